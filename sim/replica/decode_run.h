#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/cost/cost_model.h"
#include "sim/metrics/decode_run.h"
#include "sim/scheduling/scheduler.h"

namespace headway {

// A run of decode steps that a replica has laid out ahead: step 0 is the oldest in flight when the
// run began. Nobody looks while it lasts; when something does, the replica settles as many of its
// steps as have ended (replica_run.cpp).
struct DecodeRun {
  bool active = false;
  std::int64_t steps = 0;            // that can be settled; as many more as are in flight lie behind
  bool goes_on = false;              // only the horizon ends it: the plan repeats further
  std::vector<SimTime> ends;         // of all of them
  StepShape first;                   // of step 0
  DecodeRunCost cost;
  Repeats repeats;
  std::vector<std::int64_t> blocks_taken;  // as DecodeRunRecord has it
  GivenBack given_back;              // as DecodeRunRecord has it
  std::int64_t first_horizon = 24;   // how far ahead the next one will be laid out
  std::int64_t horizon = 0;          // how far ahead it was laid out at most

  void lay_out(const CostModel& model, SimTime host, std::int64_t in_flight);
  // Blocks that the sequences have taken from step 0 to step i.
  std::int64_t taken_by(std::int64_t step) const;
};

}  // namespace headway
