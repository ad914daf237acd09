#include <memory>
#include <nlohmann/json.hpp>

#include "sim/cli/capacity_arguments.h"
#include "sim/cli/capacity_plan.h"
#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/cli/execute.h"
#include "sim/cli/outputs.h"
#include "sim/cli/report_file.h"
#include "sim/cli/scenario_arguments.h"
#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "sim/report/capacity_text.h"
#include "sim/report/explanation.h"
#include "sim/report/html_capacity.h"
#include "sim/report/html_page.h"
#include "sim/study/capacity.h"

namespace headway {
namespace {

class CapacityCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    scenario_.declare(arguments, false);
    capacity_.declare(arguments);
    plan_.declare(arguments);
    arguments.text("--save-result", "FILE.json", result_path_, "Write the answer as JSON");
    declare_report(arguments, report_path_);
    arguments.flag("--json", json_, "Print the answer as JSON");
  }

  int run() override {
    const char* const place = "headway capacity";
    if (plan_.asked()) {
      if (const std::string flag = scenario_.given(); !flag.empty()) {
        throw InputError({"command line", place, flag + " beside --plan",
                          "the plan alone, which names its scenario, set and limit"});
      }
      const RunOptions options = scenario_.run_options();
      return plan_.run(capacity_, {options.threads, scenario_.quiet(), json_,
                                   options.step_by_step, result_path_, report_path_,
                                   command_line()});
    }
    if (const std::string flag = plan_.plan_flag(); !flag.empty()) {
      throw InputError({"command line", flag, "no plan", "--plan PLAN.json beside it"});
    }
    if (scenario_.given() != "a scenario") {
      throw InputError({"command line", place, "no scenario", "a scenario, or --plan PLAN.json"});
    }
    return search();
  }

 private:
  int search() {
    const Scenario scenario = scenario_.load();
    const CapacityOptions options = options_for(scenario);
    Outputs outputs;
    outputs.claim("--save-result", result_path_);
    outputs.claim("--report", report_path_);
    std::unique_ptr<OutputFile> file;
    if (!result_path_.empty()) file = std::make_unique<OutputFile>(result_path_);
    const std::unique_ptr<OutputFile> report = open_report(report_path_);
    const CapacityAnswer answer = find_capacity(scenario, options);
    if (wants_progress(scenario_.quiet())) print_err("\r\x1b[K");
    const std::string json = capacity_json(scenario, options, answer).dump(2) + "\n";
    const std::string text = json_ ? json : capacity_text(scenario, options, answer);
    if (file) file->write(json);
    if (report) report->write(report_text(scenario, options, answer));
    if (!outputs.to_stdout())
      print_out(text);
    else if (!scenario_.quiet())
      print_err(text);
    if (file) outputs.commit(result_path_, *file);
    if (report) outputs.commit(report_path_, *report);
    return 0;
  }

  // The run at the answer once more, for its figures.
  std::string report_text(const Scenario& scenario, const CapacityOptions& options,
                          const CapacityAnswer& answer) const {
    Scenario at = scenario_at(scenario, options.axis, answer.at.load);
    at.seed = answer.at.seed;
    RunRecorder recorder;
    Observer* const extra[] = {&recorder};
    const Execution run = execute(at, extra, false, {}, nullptr, true);
    const ReportHead head{scenario.name, command_line(), report_notes(run)};
    const ReportRun shown = report_run("", explain_run(run.summary), run, recorder);
    return report_html(report_page(), [&](std::size_t columns) {
      return capacity_report(head, scenario, options, answer, shown, columns);
    });
  }

  CapacityOptions options_for(const Scenario& scenario) const {
    CapacityOptions o = capacity_.options(capacity_.requirements(true));
    capacity_.check(scenario);
    if (!draws_anything(scenario)) {
      if (capacity_.seeds_given() && o.seeds > 1 && !scenario_.quiet()) {
        print_err("note: one seed instead of " + std::to_string(o.seeds) +
                  ": the workload is a recorded one and nothing else is drawn, so that all seeds "
                  "are the same run\n");
      }
      o.seeds = 1;
    }
    const RunOptions run = scenario_.run_options();
    o.threads = run.threads;
    o.step_by_step = run.step_by_step;
    if (wants_progress(scenario_.quiet())) {
      o.progress = [](std::int64_t runs, const std::string& what) {
        print_err("\r\x1b[K" + std::to_string(runs) + " runs, " + what);
      };
    }
    return o;
  }

  ScenarioArguments scenario_;
  CapacityArguments capacity_;
  CapacityPlan plan_;
  std::string result_path_, report_path_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_capacity_command() { return std::make_unique<CapacityCommand>(); }

}  // namespace headway
