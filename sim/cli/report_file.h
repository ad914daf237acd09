#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/cli/command.h"
#include "sim/cli/execute.h"
#include "sim/core/output_file.h"
#include "sim/report/html_data.h"

namespace headway {

// --report FILE.html of a command.
void declare_report(Arguments& arguments, std::string& path);

// The file of a report, opened before the work; null where `path` is "". InputError: a path that cannot
// be written, or a program built without its report page.
std::unique_ptr<OutputFile> open_report(const std::string& path);

// `run`, `explanation` (moved) and `recorder` as a report shows them; they must outlive it.
ReportRun report_run(const std::string& label, std::string explanation, const Execution& run,
                     const RunRecorder& recorder);
// Notes of a run one by one, for the head of a report; each begins with `before`. Of many (a reason
// a prompt length) the first, and how many more there are.
std::vector<std::string> report_notes(const Execution& run, const std::string& before = "");

}  // namespace headway
