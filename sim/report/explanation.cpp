#include "sim/report/explanation.h"

#include <fmt/format.h>

#include <algorithm>

namespace headway {
namespace {

double share(const RunSummary& run, LatencyPart part) {
  const double all = run.e2el_ms.mean;
  return all > 0 ? run.attribution_ms[static_cast<std::size_t>(part)] / all : 0.0;
}

std::string duration(double ms) {
  if (ms >= 120'000) return fmt::format("{:.0f} min", ms / 60'000);
  if (ms >= 1000) return fmt::format("{:.1f} s", ms / 1000);
  return fmt::format("{:.0f} ms", ms);
}

std::string batches(const RunSummary& run) {
  std::string text = fmt::format("{:.1f} sequences a step", run.engine.mean_batch);
  if (run.engine.kv_internal_waste > 0.10) {
    text += fmt::format(", {:.0f} % of the KV slots they hold empty",
                        100 * run.engine.kv_internal_waste);
  }
  return text;
}

}  // namespace

std::string explain_run(const RunSummary& run) {
  if (run.completed == 0) return "no request finished.";
  const double queue = share(run, LatencyPart::kQueue);
  const double interference = share(run, LatencyPart::kInterference);
  const double preemption = share(run, LatencyPart::kPreemption);
  const double queue_ms = run.attribution_ms[static_cast<std::size_t>(LatencyPart::kQueue)];
  if (queue > 0.5) {
    return fmt::format("{:.0f} % of a request's time is waiting for a place ({}): the GPU runs only {}.",
                       100 * queue, duration(queue_ms), batches(run));
  }
  if (preemption > std::max(interference, 0.05)) {
    return fmt::format("{} preemptions take {:.0f} % of a request's time: memory is short at {}.",
                       run.engine.preemptions, 100 * preemption, batches(run));
  }
  if (interference > 0.1) {
    return fmt::format("{} at {:.1f} ms a token; other requests' prompts hold a request up for "
                       "{:.0f} % of its time (p99 gap between tokens {}).",
                       batches(run), run.tpot_ms.mean, 100 * interference, duration(run.itl_ms.p99));
  }
  return fmt::format("{} at {:.1f} ms a token; waiting takes {:.0f} %, other requests' prompts {:.0f} % "
                     "of a request's time.",
                     batches(run), run.tpot_ms.mean, 100 * queue, 100 * interference);
}

}  // namespace headway
