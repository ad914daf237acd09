#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/metrics/observer.h"

namespace headway {

// What sequences that ended with the step before a run no longer take: the run's first step was planned
// before that, the others after.
struct GivenBack {
  std::int64_t running = 0, blocks = 0, tokens = 0;
  bool operator==(const GivenBack&) const = default;
};

struct DecodeRunRecord;

// Where the steps of a run are laid out. To be used again.
struct DecodeRunBuffers {
  std::vector<SimTime> ends;
  std::vector<double> gpu_us, all_us;
  std::vector<std::uint8_t> from, all_from;
};

// GPU time of the steps of a run but for the first.
struct DecodeRunTimes {
  std::array<double, 7> class_us{};     // by OpClass
  std::array<double, 4> coverage_us{};  // by Coverage
};

struct DecodeRunFacts;

// What knows the price of each step of a run. Thread-safe; whoever keeps a run's record keeps its
// prices.
class DecodeRunPrices : public std::enable_shared_from_this<DecodeRunPrices> {
 public:
  virtual ~DecodeRunPrices() = default;
  // Sets gpu_us, from, changing_class and what is fixed: of run.steps() steps.
  virtual void price(DecodeRunRecord& run, DecodeRunBuffers& buffers) const = 0;
  virtual DecodeRunTimes times(const DecodeRunFacts& run) const = 0;
};

// A run described in little room: its first step, the gaps between the ends, and what the prices follow
// from. The views are valid during the call only.
struct DecodeRunFacts {
  // The first step, complete. The others differ in number, times, GPU time and KV.
  StepRecord first;
  std::span<const std::int32_t> gaps_ns;     // of every step, from the end of the one before; first: 0
  SimTime last_end;
  std::int64_t ends_after_first_ns = 0;      // over all steps: how long after the first they end
  const DecodeRunPrices* prices = nullptr;   // never null where an observer is called
  std::int64_t sampled_sequences = 0;        // of every step
  std::int64_t decode_kv_max = 0;            // of the first step: the longest KV attended to
  std::int64_t decode_kv_tokens = 0;         // and the sum
  // KV blocks taken (less those given back) from the first step to the i-th after it, periodic: a
  // whole period takes blocks_taken.back(), its first i steps blocks_taken[i]. Empty: none are ever
  // taken.
  std::span<const std::int32_t> blocks_taken;
  std::int64_t block_size = 0;
  GivenBack given_back;

  std::int64_t steps() const { return std::ssize(gaps_ns); }
  SimTime first_end() const { return first.start + first.duration; }
};

// Consecutive decode steps of one replica that were simulated in one go: the same sequences in each,
// one token for every one of them, each step beginning where the one before ended. Announced when
// the last of them has ended. An observer finds its steps laid out, unless it says that it does that
// itself (Observer::lays_out_runs).
struct DecodeRunRecord : DecodeRunFacts {
  std::span<const SimTime> ends;             // of every step; not empty
  std::span<const double> gpu_us;            // of every step
  std::span<const std::uint8_t> from;        // Coverage of the part of it that changes
  std::size_t changing_class = 0;            // OpClass of that part
  double fixed_us = 0;                       // the part of gpu_us that all steps share
  std::array<double, 7> fixed_class_us{};    // the same by OpClass
  std::array<double, 4> fixed_coverage_us{}; // and by Coverage

  // Fills in all that, from the rest; only the ends. The buffers are to outlive the record's use.
  void lay_out(DecodeRunBuffers& buffers);
  void lay_out_ends(DecodeRunBuffers& buffers);

  std::int64_t blocks_taken_by(std::int64_t step) const { return taken_by(blocks_taken, step); }
  static std::int64_t taken_by(std::span<const std::int32_t> blocks_taken, std::int64_t step) {
    if (blocks_taken.empty()) return 0;
    // 32 bits divide faster, and a run is short.
    const auto period = static_cast<std::uint32_t>(blocks_taken.size() - 1);
    const auto steps = static_cast<std::uint32_t>(step);
    return std::int64_t{steps / period} * blocks_taken.back() + blocks_taken[steps % period];
  }
  // The most that any of the steps up to it has: blocks may go back where windows slide.
  std::int64_t most_blocks_taken_by(std::int64_t step) const {
    std::int64_t most = blocks_taken_by(step);
    std::int32_t least = 0;  // of what a step takes
    for (std::size_t i = 1; i < blocks_taken.size(); ++i) {
      least = std::min(least, blocks_taken[i] - blocks_taken[i - 1]);
    }
    if (least == 0) return most;
    const std::int64_t period = std::ssize(blocks_taken) - 1;
    for (std::int64_t i = 0; i < std::min(period, step); ++i) {
      const std::int64_t rounds = blocks_taken.back() > 0 ? (step - i) / period : 0;
      most = std::max(most, blocks_taken_by(rounds * period + i));
    }
    return most;
  }
  // Any of the steps as a record of its own.
  StepRecord at(std::int64_t step) const;
};

}  // namespace headway
