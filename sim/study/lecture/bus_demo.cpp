// The bus: a batch that leaves when it is full and returns when its last passenger gets off,
// against one that stops at every step; and several buses.
#include <cmath>
#include <utility>

#include "sim/core/number_text.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

constexpr double kSecondsADay = 86'400;
// The lecture's figures: one provider's estimate of what it generates, and one training run.
constexpr double kProviderTokensADay = 8.6e12, kTrainingTokens = 32e12;

double share_of(const RunSummary& r, LatencyPart part) {
  return 100 * r.attribution_ms[static_cast<std::size_t>(part)] / r.e2el_ms.mean;
}

}  // namespace

DemoAnswer run_bus_demo(const std::string& name) {
  const Scenario base = lecture_scenario(name);
  DemoTable table{"",
                  {{"scheduler", "sequences a step", "output tok/s", "TTFT mean", "waiting",
                    "TPOT mean", "E2EL mean", "E2EL p99"}}};
  struct Told {
    std::string batch, rate, ttft, e2el;
    double value;
  };
  std::vector<Told> told;
  for (const char* scheduler : {"static", "orca", "vllm-v1"}) {
    const RunSummary r =
        run_lecture(lecture_scenario(name, {{"engine.scheduler", scheduler}})).summary;
    told.push_back({fixed(r.engine.mean_batch, 1), fixed(r.output_throughput, 0),
                    time_text(r.ttft_ms.mean / 1e3), time_text(r.e2el_ms.mean / 1e3),
                    r.e2el_ms.mean});
    table.rows.push_back({scheduler, told.back().batch, told.back().rate, told.back().ttft,
                          fixed(share_of(r, LatencyPart::kQueue), 0) + " %",
                          time_text(r.tpot_ms.mean / 1e3), told.back().e2el,
                          time_text(r.e2el_ms.p99 / 1e3)});
  }
  const Told &bus = told[0], &steps = told[1];
  const bool better = steps.value < bus.value;
  DemoAnswer demo;
  demo.setup = base.model.name + " on " + base.gpu_name + " (" + base.profile + "), " +
               std::to_string(base.workload.num_prompts) + " requests at " +
               significant(base.workload.request_rate, 2) + " a second, at most " +
               std::to_string(base.engine.max_num_seqs) + " in a step.";
  demo.tables = {table};
  demo.answer = "A batch that runs until its slowest member ends carries " + bus.batch +
                " sequences a step, and an answer is complete after " + bus.e2el +
                "; with requests that join and leave at every step it is " + steps.batch +
                ", and " + steps.e2el + ": continuous batching " + (better ? "wins" : "loses") +
                ", with " + steps.rate + " instead of " + bus.rate + " tokens/s.";
  return demo;
}

DemoAnswer run_copies_demo(const std::string& name) {
  const Scenario base = lecture_scenario(name);
  DemoTable table{"",
                  {{"copies M", "users", "TTFT mean", "TPOT mean, ms", "E2EL mean", "output tok/s",
                    "times one copy's", "billion tokens a day"}}};
  double first_rate = 0, first_tpot = 0;
  std::string answer;
  for (const int copies : {1, 2, 4, 8}) {
    const auto times = [&](std::int64_t value) { return std::to_string(copies * value); };
    const RunSummary r =
        run_lecture(lecture_scenario(
                        name, {{"cluster.replicas", std::to_string(copies)},
                               {"workload.max_concurrency", times(base.workload.max_concurrency)},
                               {"workload.num_prompts", times(base.workload.num_prompts)}}))
            .summary;
    if (copies == 1) {
      first_rate = r.output_throughput;
      first_tpot = r.tpot_ms.mean;
    }
    const std::string more = fixed(r.output_throughput / first_rate, 2);
    table.rows.push_back({std::to_string(copies), times(base.workload.max_concurrency),
                          time_text(r.ttft_ms.mean / 1e3), fixed(r.tpot_ms.mean, 2),
                          time_text(r.e2el_ms.mean / 1e3), fixed(r.output_throughput, 0), more,
                          fixed(r.output_throughput * kSecondsADay / 1e9, 2)});
    const std::string now = fixed(r.tpot_ms.mean, 2), then = fixed(first_tpot, 2);
    answer = std::to_string(copies) + " copies with as many users each make " + more +
             " times the tokens of one, and a token " +
             (now == then ? "still takes " + now + " ms."
                          : "takes " + now + " ms where it took " + then +
                                ": copies buy throughput, and no latency.");
  }
  DemoTable scale{"What one provider is estimated to generate, and one training run",
                  {{"tokens", "trillion", "copies for a day", "days of that provider"}}};
  for (const auto& [what, tokens] : {std::pair{"a provider's day", kProviderTokensADay},
                                     std::pair{"a training run", kTrainingTokens}}) {
    scale.rows.push_back({what, fixed(tokens / 1e12, 1),
                          grouped(std::llround(std::ceil(tokens / (first_rate * kSecondsADay)))),
                          fixed(tokens / kProviderTokensADay, 2)});
  }
  DemoAnswer demo;
  demo.setup = base.model.name + " on " + base.gpu_name + " (" + base.profile +
               "), each copy with a GPU and " + std::to_string(base.workload.max_concurrency) +
               " users of its own who wait for one answer before they ask again.";
  demo.tables = {table, scale};
  demo.answer = answer + " A provider's day of " + scale.rows[1][1] + " trillion tokens takes " +
                scale.rows[1][2] + " such copies, and " + scale.rows[2][3] +
                " such days are a training run.";
  return demo;
}

}  // namespace headway
