#include <memory>
#include <nlohmann/json.hpp>

#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/cli/execute.h"
#include "sim/cli/outputs.h"
#include "sim/cli/report_file.h"
#include "sim/cli/run_exports.h"
#include "sim/cli/scenario_arguments.h"
#include "sim/core/output_file.h"
#include "sim/report/csv_observers.h"
#include "sim/report/explanation.h"
#include "sim/report/html_page.h"
#include "sim/report/result_json.h"
#include "sim/report/terminal_block.h"
#include "sim/scenario/pools.h"
#include "sim/workload/accounts.h"

namespace headway {
namespace {

class RunCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    scenario_.declare(arguments);
    arguments.text("--save-result", "FILE.json", result_path_,
                   "Write the summary, with the keys of vllm bench serve");
    arguments.text("--requests", "FILE.csv", requests_path_, "Write one row a request");
    arguments.text("--steps", "FILE.csv", steps_path_, "Write one row an engine step");
    declare_report(arguments, report_path_);
    exports_.declare(arguments);
    arguments.flag("--print-scenario", print_scenario_,
                   "Print the resolved scenario and stop, without simulating");
  }

  int run() override {
    const Scenario scenario = scenario_.load();
    if (print_scenario_) {
      print_out(to_json_text(scenario));
      return 0;
    }
    simulate_and_report(scenario);
    return 0;
  }

 private:
  void simulate_and_report(const Scenario& scenario) {
    Outputs outputs;
    outputs.claim("--save-result", result_path_);
    outputs.claim("--requests", requests_path_);
    outputs.claim("--steps", steps_path_);
    outputs.claim("--report", report_path_);
    // Opened before the work, so that a name that cannot be written is known at once.
    std::unique_ptr<OutputFile> result;
    std::unique_ptr<RequestsCsv> requests;
    std::unique_ptr<StepsCsv> steps;
    std::vector<Observer*> observers;
    if (!result_path_.empty()) result = std::make_unique<OutputFile>(result_path_);
    if (!requests_path_.empty()) {
      const RequestsCsvColumns columns{
          replicas_fail(scenario) || !scenario.cluster.transfer.rule.empty(),
          has_accounts(scenario.workload, scenario.folder())};
      requests = std::make_unique<RequestsCsv>(requests_path_, scenario.slo.limits(), columns,
                                               scenario.slo.classes);
      observers.push_back(requests.get());
    }
    if (!steps_path_.empty()) {
      steps = std::make_unique<StepsCsv>(steps_path_);
      observers.push_back(steps.get());
    }
    const std::unique_ptr<OutputFile> report = open_report(report_path_);
    RunRecorder recorder;
    if (report) observers.push_back(&recorder);
    exports_.open(scenario, outputs, observers);
    const Execution run = execute(scenario, observers, wants_progress(scenario_.quiet()),
                                  scenario_.run_options(), nullptr, report != nullptr);
    const std::string large = exports_.check();
    if (result) result->write(result_json(run.summary, run.info).dump(2) + "\n");
    if (report) report->write(report_text(scenario, run, recorder));
    if (!scenario_.quiet()) print_err(notes_text(run) + large);
    const std::string block =
        serving_block(run.summary, run.info) + headway_block(run.summary, run.info);
    // Where a file goes to stdout, the block is talk.
    if (!outputs.to_stdout())
      print_out(block);
    else if (!scenario_.quiet())
      print_err(block);
    if (requests) outputs.commit(requests_path_, *requests);
    if (steps) outputs.commit(steps_path_, *steps);
    exports_.commit(outputs);
    if (result) outputs.commit(result_path_, *result);
    if (report) outputs.commit(report_path_, *report);
  }

  std::string report_text(const Scenario& scenario, const Execution& run,
                          const RunRecorder& recorder) const {
    const ReportHead head{scenario.name, command_line(), report_notes(run)};
    const ReportRun shown = report_run("", explain_run(run.summary), run, recorder);
    return report_html(report_page(),
                       [&](std::size_t columns) { return run_report(head, shown, columns); });
  }

  ScenarioArguments scenario_;
  RunExports exports_;
  std::string result_path_, requests_path_, steps_path_, report_path_;
  bool print_scenario_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace headway
