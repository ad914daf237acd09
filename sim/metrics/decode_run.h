#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>

#include "sim/core/sim_time.h"
#include "sim/metrics/observer.h"

namespace headway {

// What sequences that ended with the step before a run no longer take: the run's first step was planned
// before that, the others after.
struct GivenBack {
  std::int64_t running = 0, blocks = 0, tokens = 0;
  bool operator==(const GivenBack&) const = default;
};

// Consecutive decode steps of one replica that were simulated in one go: the same sequences in each,
// one token for every one of them, each step beginning where the one before ended. Announced when
// the last of them has ended. The views are valid during the call only.
struct DecodeRunRecord {
  // The first step, complete. The others differ in number, times, GPU time and KV.
  StepRecord first;
  std::span<const SimTime> ends;             // of every step; not empty
  std::int64_t ends_after_first_ns = 0;      // over them: how long after the first
  std::span<const double> gpu_us;            // of every step
  std::span<const std::uint8_t> from;        // Coverage of the part of it that changes
  std::size_t changing_class = 0;            // OpClass of that part
  double fixed_us = 0;                       // the part of gpu_us that all steps share
  std::array<double, 7> fixed_class_us{};    // the same by OpClass
  std::array<double, 4> fixed_coverage_us{}; // and by Coverage
  // KV blocks taken (less those given back) from the first step to the i-th after it, periodic: a
  // whole period takes blocks_taken.back(), its first i steps blocks_taken[i]. Empty: none are ever
  // taken.
  std::span<const std::int64_t> blocks_taken;
  std::int64_t block_size = 0;
  GivenBack given_back;

  std::int64_t steps() const { return static_cast<std::int64_t>(ends.size()); }
  std::int64_t blocks_taken_by(std::int64_t step) const { return taken_by(blocks_taken, step); }
  static std::int64_t taken_by(std::span<const std::int64_t> blocks_taken, std::int64_t step) {
    if (blocks_taken.empty()) return 0;
    // 32 bits divide faster, and a run is short.
    const auto period = static_cast<std::uint32_t>(blocks_taken.size() - 1);
    const auto steps = static_cast<std::uint32_t>(step);
    return steps / period * blocks_taken.back() + blocks_taken[steps % period];
  }
  // The most that any of the steps up to it has: blocks may go back where windows slide.
  std::int64_t most_blocks_taken_by(std::int64_t step) const {
    std::int64_t most = blocks_taken_by(step);
    if (std::is_sorted(blocks_taken.begin(), blocks_taken.end())) return most;
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
