#include "sim/cli/report_file.h"

#include <sstream>

#include "sim/report/html_page.h"

namespace headway {

void declare_report(Arguments& arguments, std::string& path) {
  arguments.text("--report", "FILE.html", path,
                 "Write a page with figures that opens in a browser, without a network");
}

std::unique_ptr<OutputFile> open_report(const std::string& path) {
  if (path.empty()) return nullptr;
  require_report_page(report_page());
  return std::make_unique<OutputFile>(path);
}

ReportRun report_run(const std::string& label, std::string explanation, const Execution& run,
                     const RunRecorder& recorder) {
  return {label, std::move(explanation), &run.summary, &run.info, &run.curves, &recorder};
}

std::vector<std::string> report_notes(const Execution& run) {
  std::vector<std::string> notes;
  std::istringstream lines(notes_text(run));
  for (std::string line; std::getline(lines, line);) {
    notes.push_back(line.starts_with("note: ") ? line.substr(6) : line);
  }
  return notes;
}

}  // namespace headway
