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

std::vector<std::string> report_notes(const Execution& run, const std::string& before) {
  constexpr std::size_t kMostNotes = 8;
  std::vector<std::string> notes;
  std::size_t more = 0;
  std::istringstream lines(notes_text(run));
  for (std::string line; std::getline(lines, line);) {
    if (notes.size() == kMostNotes) {
      ++more;
    } else {
      notes.push_back(before + (line.starts_with("note: ") ? line.substr(6) : line));
    }
  }
  if (more > 0) notes.push_back(before + std::to_string(more) + " more notes of this kind");
  return notes;
}

}  // namespace headway
