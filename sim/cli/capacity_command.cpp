#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/cli/execute.h"
#include "sim/cli/outputs.h"
#include "sim/cli/report_file.h"
#include "sim/cli/scenario_arguments.h"
#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "sim/core/suggest.h"
#include "sim/report/capacity_text.h"
#include "sim/report/explanation.h"
#include "sim/report/html_capacity.h"
#include "sim/report/html_page.h"
#include "sim/study/capacity.h"

namespace headway {
namespace {

constexpr std::int64_t kMostSeeds = 1000;

CapacityAxis parse_axis(const std::string& name) {
  if (name.empty() || name == "rate") return CapacityAxis::kRate;
  if (name == "concurrency") return CapacityAxis::kConcurrency;
  if (name == "replicas") return CapacityAxis::kReplicas;
  throw InputError({"command line", "--find", "\"" + name + "\"",
                    one_of(name, {"rate", "concurrency", "replicas"})});
}

double positive(const std::optional<double>& value, const char* flag, double fallback) {
  if (!value) return fallback;
  if (*value > 0 && *value < 1e12) return *value;  // false for what is no number too
  throw InputError({"command line", flag, std::to_string(*value), "a number above 0"});
}

class CapacityCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    scenario_.declare(arguments);
    arguments.list("--slo", "METRIC:STAT:MS", slos_,
                   "A limit, such as ttft:p99:2000 or tpot:mean:50 (may be repeated); metrics ttft, "
                   "tpot, itl, e2el; statistics mean, p50, p90, p95, p99");
    arguments.real("--attainment", "SHARE", attainment_,
                   "The share of requests within all of the scenario's own limits (slo) to reach");
    arguments.text("--find", "WHAT", find_,
                   "rate (default), concurrency (a closed loop's), or replicas (the fewest)");
    arguments.number("--seeds", "K", seeds_, 1, "Draws of the workload (default 5)");
    arguments.real("--tolerance", "SHARE", tolerance_, "Of a search for a rate (default 0.01)");
    arguments.real("--low", "LOAD", low_, "Look no lower");
    arguments.real("--high", "LOAD", high_, "Look no higher");
    arguments.number("--max-runs", "N", max_runs_, 1, "Give up after so many runs (default 400)");
    arguments.text("--save-result", "FILE.json", result_path_, "Write the answer as JSON");
    declare_report(arguments, report_path_);
    arguments.flag("--json", json_, "Print the answer as JSON");
  }

  int run() override {
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

 private:
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

  CapacityOptions options_for(const Scenario& scenario) {
    CapacityOptions o;
    o.axis = parse_axis(find_);
    for (const std::string& slo : slos_) o.requirements.targets.push_back(parse_slo_target(slo));
    o.requirements.attainment = attainment(scenario);
    if (slos_.empty() && o.requirements.attainment == 0) {
      throw InputError({"command line", "headway capacity", "no SLO",
                        "--slo METRIC:STATISTIC:MILLISECONDS, or --attainment with limits in the "
                        "scenario's slo"});
    }
    o.tolerance = positive(tolerance_, "--tolerance", o.tolerance);
    o.low = positive(low_, "--low", 0);
    o.high = positive(high_, "--high", 0);
    if (o.low > 0 && o.high > 0 && o.low >= o.high) {
      throw InputError({"command line", "--low", std::to_string(o.low), "less than --high"});
    }
    o.seeds = static_cast<int>(std::min(seeds_.value_or(o.seeds), kMostSeeds));
    // Nothing is drawn: every seed is the same run.
    if (!scenario.workload.trace.empty() && scenario.cluster.router != "random" &&
        !scenario.speculation.on()) {
      o.seeds = 1;
    }
    o.max_runs = max_runs_.value_or(o.max_runs);
    o.threads = scenario_.run_options().threads;
    if (wants_progress(scenario_.quiet())) {
      o.progress = [](std::int64_t runs, const std::string& what) {
        print_err("\r\x1b[K" + std::to_string(runs) + " runs, " + what);
      };
    }
    return o;
  }

  double attainment(const Scenario& scenario) const {
    if (!attainment_) return 0;
    if (!(*attainment_ > 0 && *attainment_ <= 1)) {
      throw InputError({"command line", "--attainment", std::to_string(*attainment_),
                        "a share above 0, at most 1"});
    }
    if (!scenario.slo.any()) {
      throw InputError({scenario.file, "slo", "no limits",
                        "ttft_ms, tpot_ms or e2el_ms, of which --attainment is the share"});
    }
    return *attainment_;
  }

  ScenarioArguments scenario_;
  std::vector<std::string> slos_;
  std::optional<double> attainment_, tolerance_, low_, high_;
  std::optional<std::int64_t> seeds_, max_runs_;
  std::string find_, result_path_, report_path_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_capacity_command() { return std::make_unique<CapacityCommand>(); }

}  // namespace headway
