#pragma once

#include <string>

#include "tests/support/bench_engine.h"

namespace headway {

// Two replicas under load and short of memory: a workload in which every rule of a scheduler matters.
inline BenchEngine busy_engine(const std::string& scheduler) {
  BenchEngine bench(scheduler);
  bench.cost(3000.0, 15.0, 40.0);
  bench.engine().max_num_seqs = 16;
  bench.engine().batch_size = 16;
  bench.engine().batch_timeout_ms = 20;
  bench.engine().max_num_batched_tokens = 1024;
  bench.engine().max_model_len = 1024;
  bench.engine().n_parallel = 16;
  bench.engine().chunked_prefill_size = 256;
  bench.blueprint.replica.max_model_len = 1024;
  bench.blueprint.scheduler.num_blocks = 200;  // 3200 tokens: memory is short
  bench.blueprint.replica.host.per_request = SimTime::from_ms(3);
  bench.blueprint.replica.host.per_step = SimTime::from_us(200);
  bench.scenario.cluster.replicas = 2;
  WorkloadOptions& w = bench.workload();
  w.num_prompts = 300;
  w.request_rate = 60;
  w.input_len = {.distribution = "uniform", .low = 1, .high = 600};
  w.output_len = {.distribution = "uniform", .low = 1, .high = 80};
  return bench;
}

}  // namespace headway
