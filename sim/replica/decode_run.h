#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/cost/cost_model.h"
#include "sim/metrics/decode_run.h"
#include "sim/scheduling/scheduler.h"

namespace headway {

// The first steps of a run, as far as somebody wants to know of them.
struct RunPart {
  std::int64_t steps = 0;
  SimTime first_end, last_end;
  SimTime longest_gap;                       // between two of their ends
  // Over their ends in ns, modulo 2^64: the sum, and that of i times the i-th from 0.
  std::uint64_t ends_sum = 0, ends_by_step = 0;
};

// A run of decode steps that a replica has laid out ahead: step 0 is the oldest in flight when the
// run began. Nobody looks while it lasts; when something does, the replica settles as many of its
// steps as have ended (replica_run.cpp). Of each step only the time is kept, unless observers on this
// thread read what it cost: a fleet's runs lie in the cache while others go on, and what a step cost is
// priced again where somebody asks.
struct DecodeRun {
  bool active = false;
  std::int64_t steps = 0;            // that can be settled; as many more as are in flight lie behind
  bool goes_on = false;              // only the horizon ends it: the plan repeats further
  SimTime first_end;                 // of step 0
  SimTime due;                       // somebody must look then: the last step ends, or the one after
  std::vector<std::int32_t> gaps_ns; // of all of them, from the end of the one before; of step 0: 0
  DecodeRunCost cost;                // of all of them, where it is kept
  StepShape first;                   // of step 0
  Repeats repeats;
  std::vector<std::int32_t> blocks_taken;  // as DecodeRunRecord has it
  GivenBack given_back;              // as DecodeRunRecord has it
  std::int64_t first_horizon = 24;   // how far ahead the next one will be laid out
  std::int64_t horizon = 0;          // how far ahead it was laid out at most

  // Times all steps, the first of which are in flight and end at `ends`. False: one of them takes too
  // long to be laid out.
  bool lay_out(const CostModel& model, SimTime host, std::span<const SimTime> ends,
               DecodeRunCost& cost);
  // The first `most` steps, or fewer: those that end before `until`.
  RunPart part(std::int64_t most, SimTime until) const;
  SimTime gap(std::int64_t step) const {
    return SimTime::from_ns(gaps_ns[static_cast<std::size_t>(step)]);
  }
  // Blocks that the sequences have taken from step 0 to step i.
  std::int64_t taken_by(std::int64_t step) const;
  // What step i asks of the GPU.
  void shape_at(std::int64_t step, StepShape& shape) const;

 private:
  void count_blocks(std::int64_t in_flight);
  std::int64_t ended_before(std::int64_t most, SimTime until) const;
};

// What the record's steps cost, which `cost` has at least.
void fill_in(const DecodeRunCost& cost, DecodeRunRecord& run);

// Observers' way to the cost model.
class RunPrices final : public DecodeRunPrices {
 public:
  explicit RunPrices(std::shared_ptr<const CostModel> model) : model_(std::move(model)) {}
  void price(DecodeRunRecord& run, DecodeRunBuffers& buffers) const override;
  DecodeRunTimes times(const DecodeRunFacts& run) const override;

 private:
  std::shared_ptr<const CostModel> model_;
};

// Room for one run at a time, which all replicas of a fleet may share.
struct RunRoom {
  DecodeRunCost cost;
  DecodeRunRecord record;
  DecodeRunBuffers laid_out;
};

}  // namespace headway
