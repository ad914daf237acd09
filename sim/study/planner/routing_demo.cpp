// A recorded hour of conversations behind different routers: what is a cache worth that the router
// knows?
#include <algorithm>

#include "sim/core/errors.h"
#include "sim/core/number_text.h"
#include "sim/study/planner/planner.h"

namespace headway {
namespace {

constexpr const char* kRouters[] = {"round-robin", "least-outstanding", "least-tokens",
                                    "cache-aware"};
constexpr std::int32_t kReplicas[] = {4, 6, 8};

struct RoutedFleet {
  std::string router;
  std::int32_t replicas = 0;
  double hit_share = 0, in_slo = 0, ttft_ms = 0;
};

// The smallest fleet behind that router that reaches the share; null = none of them.
const RoutedFleet* smallest(const std::vector<RoutedFleet>& fleets, const std::string& router,
                            double share) {
  for (const RoutedFleet& fleet : fleets) {  // by router, then by replicas
    if (fleet.router == router && fleet.in_slo >= share) return &fleet;
  }
  return nullptr;
}

std::string hits_text(const RoutedFleet& fleet) { return fixed(100 * fleet.hit_share, 1) + " %"; }
std::string wait_text(const RoutedFleet& fleet) { return fixed(fleet.ttft_ms, 0) + " ms"; }

std::string routing_answer(const std::vector<RoutedFleet>& fleets) {
  const std::int32_t largest = kReplicas[std::size(kReplicas) - 1];
  const auto of = [&](const char* router) -> const RoutedFleet& {
    return *std::find_if(fleets.begin(), fleets.end(), [&](const RoutedFleet& f) {
      return f.router == router && f.replicas == largest;
    });
  };
  const RoutedFleet &blind = of("round-robin"), &tokens = of("least-tokens"),
                    &aware = of("cache-aware");
  std::string text = "On " + std::to_string(largest) + " replicas cache-aware routing finds " +
                     hits_text(aware) +
                     " of the prompt tokens in a cache where round-robin finds " +
                     hits_text(blind) + ", and the mean first token comes after " +
                     wait_text(aware) + " instead of " + wait_text(blind) + "; ";
  const RoutedFleet* enough = smallest(fleets, "cache-aware", blind.in_slo);
  if (enough == nullptr) {
    text += "but no fleet of it has as many requests in the SLO";
  } else if (enough->replicas == largest) {
    text += "it takes as many replicas";
  } else {
    text += "what round-robin needs " + std::to_string(largest) + " replicas for (" +
            fixed(100 * blind.in_slo, 2) + " % in the SLO) it does with " +
            std::to_string(enough->replicas) + " (" + fixed(100 * enough->in_slo, 2) + " %)";
  }
  const char* const verdict = tokens.ttft_ms <= aware.ttft_ms ? "no later" : "later";
  return text +
         ". Least-tokens, which knows of no cache but of long prompts, has its first token " +
         verdict + ", after " + wait_text(tokens) + ".";
}

}  // namespace

DemoAnswer run_routing_demo(const std::string& name) {
  const Scenario base = lecture_scenario(name);
  SIM_CHECK(base.slo.ttft_ms.has_value());
  std::vector<Scenario> scenarios;
  for (const char* router : kRouters) {
    for (const std::int32_t replicas : kReplicas) {
      scenarios.push_back(lecture_scenario(
          name, {{"cluster.router", router}, {"cluster.replicas", std::to_string(replicas)}}));
    }
  }
  const std::vector<LectureRun> runs = run_fleets(scenarios);
  DemoTable table{"",
                  {{"router", "replicas", "prompt tokens cached, %", "TTFT mean, ms",
                    "TTFT p99, ms", "TPOT mean, ms", "in SLO, %"}}};
  Chart hits{"Prompt tokens found in a cache", "replicas", "percent"};
  Chart wait{"Mean time to first token", "replicas", "ms"};
  std::vector<RoutedFleet> fleets;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunSummary& r = runs[i].summary;
    const ClusterOptions& cluster = scenarios[i].cluster;
    const double share = static_cast<double>(r.cached_tokens) /
                         static_cast<double>(std::max<std::int64_t>(r.input_tokens, 1));
    fleets.push_back(
        {cluster.router, cluster.replicas, share, r.slo_attainment.value_or(0), r.ttft_ms.mean});
    table.rows.push_back({cluster.router, std::to_string(cluster.replicas), fixed(100 * share, 1),
                          fixed(r.ttft_ms.mean, 0), fixed(r.ttft_ms.p99, 0),
                          fixed(r.tpot_ms.mean, 1), fixed(100 * r.slo_attainment.value_or(0), 2)});
    if (i % std::size(kReplicas) == 0) {
      hits.series.push_back({cluster.router, {}, true});
      wait.series.push_back({cluster.router, {}, true});
    }
    hits.series.back().points.emplace_back(cluster.replicas, 100 * share);
    wait.series.back().points.emplace_back(cluster.replicas, r.ttft_ms.mean);
  }
  DemoAnswer demo;
  demo.setup = base.model.name + " on " + base.gpu_name + " (" + base.profile + "), the first " +
               grouped(base.workload.limit) + " requests of " + base.workload.trace +
               ", prefix caching in every replica. SLO: TTFT <= " + fixed(*base.slo.ttft_ms, 0) +
               " ms.";
  demo.tables = {table};
  demo.charts = {hits, wait};
  demo.answer = routing_answer(fleets);
  return demo;
}

}  // namespace headway
