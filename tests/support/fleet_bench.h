#pragma once

#include <string>
#include <vector>

#include "tests/support/bench_engine.h"

namespace headway {

// Pools of engines whose every time is known in advance.
struct FleetBench {
  Scenario scenario;
  std::vector<Blueprint> pools;

  // All of one kind, at first.
  FleetBench(const BenchEngine& engine, const std::vector<std::int32_t>& replicas)
      : scenario(engine.scenario), pools(replicas.size(), engine.blueprint) {
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      PoolOptions pool;
      pool.name = std::string("pool-") + static_cast<char>('a' + i);
      pool.replicas = replicas[i];
      scenario.cluster.pools.push_back(std::move(pool));
    }
  }
  RunOutcome run(std::span<Observer* const> observers, const RunOptions& options = {}) const {
    return simulate(scenario, pools, observers, options);
  }
};

// Keeps what leaves a run.
class Finished : public Observer {
 public:
  bool hears_steps() const override { return false; }
  void on_finish(const RequestRecord& r) override { records.push_back(r); }
  std::vector<RequestRecord> records;
};

}  // namespace headway
