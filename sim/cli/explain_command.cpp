#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/cli/execute.h"
#include "sim/cli/scenario_arguments.h"
#include "sim/core/errors.h"
#include "sim/metrics/request_life.h"
#include "sim/metrics/run_causes.h"
#include "sim/report/causes_text.h"
#include "sim/report/life_text.h"
#include "sim/study/bottleneck.h"

namespace headway {
namespace {

class ExplainCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    scenario_.declare(arguments);
    arguments.number("--request", "ID", request_, 0,
                     "Tell this request's life, with the cause of each wait (default: where the "
                     "run's p99 TTFT came from, and what the first bottleneck is)");
    arguments.flag("--json", json_, "Print JSON");
  }

  int run() override {
    const Scenario scenario = scenario_.load();
    if (request_) {
      explain_request(scenario, static_cast<std::uint64_t>(*request_));
    } else {
      explain_whole(scenario);
    }
    return 0;
  }

 private:
  Execution simulate_with(const Scenario& scenario, Observer& observer, RunOptions options) {
    const std::vector<Observer*> observers = {&observer};
    Execution run = execute(scenario, observers, wants_progress(scenario_.quiet()), options);
    if (!scenario_.quiet()) print_err(notes_text(run));
    return run;
  }

  void explain_request(const Scenario& scenario, std::uint64_t id) {
    RunOptions options = scenario_.run_options();
    options.step_by_step = true;  // every step is told of
    LifeObserver observer(id);
    simulate_with(scenario, observer, options);
    if (observer.lives().empty()) {
      const auto nearest = observer.nearest();
      throw InputError({"command line", "--request",
                        std::to_string(id) + ", which no request of this run is",
                        nearest ? "an id that exists; the nearest is " + std::to_string(*nearest)
                                : "a workload with requests: this one has none"});
    }
    const RequestLife& life = observer.lives().front();
    print_out(json_ ? life_json(life).dump(2) + "\n" : life_text(life));
  }

  void explain_whole(const Scenario& scenario) {
    RunCauses causes(ridge_tokens(scenario));
    const Execution run = simulate_with(scenario, causes, scenario_.run_options());
    const ExplainedRun explained{run.summary, causes.result()};
    Bottleneck bottleneck;
    if (run.summary.completed > 0) {
      bottleneck = find_bottleneck(scenario, explained, scenario_.run_options());
    }
    print_out(json_ ? causes_json(explained, bottleneck).dump(2) + "\n"
                    : causes_text(explained, bottleneck, scenario));
  }

  ScenarioArguments scenario_;
  std::optional<std::int64_t> request_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace headway
