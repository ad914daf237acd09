#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/engine/backend.h"
#include "kernels/engine/clock.h"
#include "kernels/engine/token_text.h"
#include "sim/cost/step_shape.h"
#include "sim/metrics/observer.h"
#include "sim/replica/speculation.h"
#include "sim/scheduling/scheduler.h"
#include "sim/workload/client.h"

namespace headway::kernels {

struct EngineConfig {
  SchedulerConfig scheduler;  // batches_in_flight 1: this engine plans when a step has ended
  std::int32_t max_model_len = 0;
  std::int32_t draft_layers = 0;  // speculation "draft_model": layers of the draft
};

// What a request said and was told.
struct Conversation {
  std::uint64_t request = 0;
  std::vector<std::int32_t> prompt, answer;
};

// One step, taken apart.
struct StepTiming {
  std::int32_t sequences = 0, rows = 0, prefill_tokens = 0;
  double kernels_us = 0;  // decode_step of the target
  double draft_us = 0;    // proposing, afterwards
  double host_us = 0;     // the rest: planning, tables, bookkeeping
  double busy = 1;        // CPU time over wall time of the step
  StepShape shape;        // what a cost model would be asked
};

struct EngineRun {
  std::vector<Conversation> conversations;  // of finished requests, in order of their ends
  std::vector<StepTiming> steps;
  double intake_us = 0;  // host time of taking requests in, all together
  std::int64_t requests = 0, preemptions = 0;
  std::int64_t prefix_hits = 0;  // tokens
  SpeculationStats speculation;
  std::int64_t draft_chances = 0;  // sequences and steps that a drafter was asked for
  SimTime end;
  double wall_busy_s = 0,
         cpu_s = 0;  // while there was work: wall time, and CPU time of this thread
};

// A serving engine in real time: the simulator's client, scheduler and KV classes, real kernels.
// One step at a time, tokens picked greedily, answers as long as the workload says (an end-of-text
// token means nothing here). Observers hear what a replica's observers hear, but of latency parts
// only queue (to the first plan), prefill (to the first token) and decode.
//
// InputError for what it cannot run: samples and beams, schedulers that swap or whose cached
// prefixes have no block ids, drafters other than n-gram look-up and truncated layers.
class Engine {
 public:
  Engine(const EngineConfig& config, EngineBackend& backend, Clock& clock);
  ~Engine();

  EngineRun run(Client& client, std::span<Observer* const> observers);

 private:
  class Loop;
  EngineConfig config_;
  EngineBackend& backend_;
  Clock& clock_;
};

// Whether this engine can run such a scheduler; InputError with the reason if not.
void check_engine(const EngineConfig& config);

}  // namespace headway::kernels
