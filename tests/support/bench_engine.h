#pragma once

#include <memory>
#include <span>
#include <string>

#include "sim/cluster/simulation.h"
#include "tests/support/fixed_cost.h"

namespace headway {

// A scenario and a blueprint of constants: an engine whose every time is known in advance.
struct BenchEngine {
  Scenario scenario;
  Blueprint blueprint;

  explicit BenchEngine(const std::string& scheduler = "vllm-v1") {
    EngineOptions& e = blueprint.scheduler.engine;
    e.scheduler = scheduler;
    e.max_model_len = 4096;
    e.max_num_batched_tokens = 8192;
    e.batch_size = e.max_num_seqs;
    e.enable_prefix_caching = false;
    e.async_scheduling = false;
    blueprint.scheduler.num_blocks = 100'000;
    blueprint.replica.max_model_len = e.max_model_len;
    cost(1000.0, 0.0, 0.0);
    scenario.workload.input_len.value = 16;
    scenario.workload.output_len.value = 1;
    scenario.workload.num_prompts = 1;
    scenario.workload.request_rate = 1.0;
  }

  EngineOptions& engine() { return blueprint.scheduler.engine; }
  WorkloadOptions& workload() { return scenario.workload; }
  void cost(double step_us, double prefill_token_us, double decode_sequence_us) {
    blueprint.cost = std::make_shared<FixedCost>(step_us, prefill_token_us, decode_sequence_us);
  }
  RunOutcome run(std::span<Observer* const> observers, const RunOptions& options = {}) {
    return simulate(scenario, blueprint, observers, options);
  }
};

}  // namespace headway
