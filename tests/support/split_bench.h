#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fleet_bench.h"

namespace headway {

// Pools that compute prompts and decode, of engines whose every time is known in advance. The model
// has four layers of 8 heads of 128 numbers each for keys and values in 16 bits: 16384 bytes a token.
struct SplitBench : FleetBench {
  static constexpr double kBytesPerToken = 4 * 8 * (128 + 128) * 2;

  SplitBench(BenchEngine engine, std::int32_t prompts, std::int32_t answers, const std::string& rule)
      : FleetBench(with_model(std::move(engine)), {prompts, answers}) {
    scenario.cluster.pools[0].role = "prefill";
    scenario.cluster.pools[1].role = "decode";
    for (PoolOptions& pool : scenario.cluster.pools) {
      pool.own = std::make_shared<const Scenario>(scenario);
    }
    scenario.cluster.transfer.rule = rule;
    link(1e9, 100);
  }
  void link(double bandwidth, double latency_us) {
    scenario.cluster.transfer.link.clear();
    scenario.cluster.transfer.bandwidth = bandwidth;
    scenario.cluster.transfer.latency_us = latency_us;
  }

 private:
  static BenchEngine with_model(BenchEngine engine) {
    LayerSpec layer;
    layer.mixer.kv_heads = 8;
    layer.mixer.head_dim = layer.mixer.v_head_dim = 128;
    engine.scenario.model.layers.assign(4, layer);
    return engine;
  }
};

// Keeps what is sent between replicas, and what leaves.
class Sent : public Finished {
 public:
  void on_transfer(const TransferRecord& t) override { transfers.push_back(t); }
  std::vector<RequestRecord> by_id() const {
    std::vector<RequestRecord> sorted = records;
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return sorted;
  }
  std::vector<TransferRecord> transfers;
};

}  // namespace headway
