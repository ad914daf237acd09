#include "sim/replica/decode_run.h"

#include <algorithm>
#include <array>

#include "sim/core/wide.h"

namespace headway {
namespace {

// Steps that take longer are not laid out, so that a gap fits 32 bits.
constexpr std::int32_t kLongestStepNs = 1'000'000'000;

// gaps[i] = the nearest nanosecond of us[i] (SimTime::from_us) + host; kLongestStepNs + host stands for
// all that take as long, or longer. Made of vectors. The longest gap.
HEADWAY_WIDE std::int32_t lay_gaps(const double* us, std::int32_t host, std::int32_t* gaps,
                                   std::size_t n) {
  // Adding this leaves a double no digit below the point; a tie goes to the even neighbour.
  constexpr double kWhole = 0x1.8p52;
  constexpr double kMost = kLongestStepNs;
  constexpr std::size_t kBlock = 128;
  std::array<double, kBlock> ns;
  std::int32_t longest = 0;
  for (std::size_t i = 0; i < n; i += kBlock) {
    const auto here = static_cast<std::int32_t>(std::min(kBlock, n - i));
    for (std::int32_t k = 0; k < here; ++k) {
      const double exact = us[i + k] * 1e3;
      const double even = (exact + kWhole) - kWhole;
      ns[k] = even + (exact - even == 0.5 ? 1.0 : 0.0);
    }
    for (std::int32_t k = 0; k < here; ++k) {
      const std::int32_t gap = static_cast<std::int32_t>(std::min(ns[k], kMost)) + host;
      gaps[i + k] = gap;
      longest = std::max(longest, gap);
    }
  }
  return longest;
}

HEADWAY_WIDE std::int64_t sum_of(const std::int32_t* gaps, std::int64_t n) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += gaps[i];
  return sum;
}

// Sums over the gaps before steps 1 to n - 1: of the gaps, of i times the i-th, and of i (i - 1) / 2 times
// it; the longest.
struct GapSums {
  std::uint64_t all, by_step, by_pairs;
  std::int32_t longest;
};

HEADWAY_WIDE GapSums sums_of(const std::int32_t* gaps, std::uint32_t n) {
  std::uint64_t all = 0, by_step = 0, by_pairs = 0;
  std::int32_t longest = 0;
  for (std::uint32_t i = 1; i < n; ++i) {
    const auto gap = static_cast<std::uint32_t>(gaps[i]);
    const std::uint32_t pairs = i * (i - 1) / 2;
    all += gap;
    by_step += std::uint64_t{gap} * i;
    by_pairs += std::uint64_t{gap} * pairs;
    longest = std::max(longest, gaps[i]);
  }
  return {all, by_step, by_pairs, longest};
}

void add_steps(std::int64_t steps, StepShape& shape) {
  shape.decode_kv_tokens += steps * shape.decode_sequences;
  shape.decode_kv_max += static_cast<std::int32_t>(steps);
}

StepShape first_shape(const DecodeRunFacts& run) {
  StepShape shape;
  shape.tokens = shape.decode_sequences = shape.decode_query_tokens = shape.scheduled_sequences =
      run.first.batch;
  shape.sampled_sequences = static_cast<std::int32_t>(run.sampled_sequences);
  shape.decode_kv_tokens = run.decode_kv_tokens;
  shape.decode_kv_max = static_cast<std::int32_t>(run.decode_kv_max);
  return shape;
}

}  // namespace

bool DecodeRun::lay_out(const CostModel& model, SimTime host, std::span<const SimTime> ends,
                        DecodeRunCost& cost) {
  const auto laid = ends.size();
  const auto all = static_cast<std::size_t>(steps) + laid;
  gaps_ns.resize(all);
  gaps_ns[0] = 0;
  first_end = ends[0];
  for (std::size_t i = 1; i < laid; ++i) {
    const std::int64_t gap = (ends[i] - ends[i - 1]).ns();
    if (gap >= kLongestStepNs) return false;
    gaps_ns[i] = static_cast<std::int32_t>(gap);
  }
  if (host.ns() >= kLongestStepNs) return false;
  const auto host_ns = static_cast<std::int32_t>(host.ns());
  model.price_run(first, static_cast<std::int64_t>(all), cost);
  const std::int32_t longest =
      lay_gaps(cost.gpu_us.data() + laid, host_ns, gaps_ns.data() + laid, all - laid);
  if (longest - host_ns >= kLongestStepNs) return false;
  due = first_end + SimTime::from_ns(sum_of(gaps_ns.data(), steps + (goes_on ? 0 : 1)));
  count_blocks(static_cast<std::int64_t>(laid));
  return true;
}

// The promise counts from the newest step in flight, the run from the oldest.
void DecodeRun::count_blocks(std::int64_t in_flight) {
  const auto period = static_cast<std::int64_t>(repeats.new_blocks.size());
  blocks_taken.resize(period == 0 ? 0 : repeats.new_blocks.size() + 1);
  if (period == 0) return;
  const auto from = repeats.new_blocks.begin() + (period - (in_flight - 1) % period) % period;
  std::int32_t taken = 0;
  std::int32_t* out = blocks_taken.data();
  *out = 0;
  for (auto blocks = from; blocks != repeats.new_blocks.end(); ++blocks) *++out = taken += *blocks;
  for (auto blocks = repeats.new_blocks.begin(); blocks != from; ++blocks) *++out = taken += *blocks;
}

RunPart DecodeRun::part(std::int64_t most, SimTime until) const {
  RunPart part;
  part.first_end = part.last_end = first_end;
  if (most == 0 || first_end >= until) return part;
  part.steps = until == SimTime::never() ? most : ended_before(most, until);
  const auto n = static_cast<std::uint64_t>(part.steps);
  const auto first = static_cast<std::uint64_t>(first_end.ns());
  const GapSums gaps = sums_of(gaps_ns.data(), static_cast<std::uint32_t>(n));
  part.last_end += SimTime::from_ns(static_cast<std::int64_t>(gaps.all));
  part.longest_gap = SimTime::from_ns(gaps.longest);
  // The gap before step i is part of the ends of steps i to n - 1.
  part.ends_sum = n * (first + gaps.all) - gaps.by_step;
  part.ends_by_step = n * (n - 1) / 2 * (first + gaps.all) - gaps.by_pairs;
  return part;
}

// Of the first `most` steps. REQUIRES: step 0 has ended by then.
std::int64_t DecodeRun::ended_before(std::int64_t most, SimTime until) const {
  std::int64_t left = (until - first_end).ns();
  std::int64_t steps = 1;
  for (; steps < most; ++steps) {
    left -= gaps_ns[static_cast<std::size_t>(steps)];
    if (left <= 0) break;
  }
  return steps;
}

std::int64_t DecodeRun::taken_by(std::int64_t step) const {
  return DecodeRunRecord::taken_by(blocks_taken, step);
}

void DecodeRun::shape_at(std::int64_t step, StepShape& shape) const {
  shape = first;
  add_steps(step, shape);
}

void fill_in(const DecodeRunCost& cost, DecodeRunRecord& run) {
  const auto steps = static_cast<std::size_t>(run.steps());
  run.gpu_us = {cost.gpu_us.data(), steps};
  run.from = {cost.from.data(), steps};
  run.changing_class = static_cast<std::size_t>(cost.changing);
  run.fixed_us = cost.fixed.gpu_us;
  run.fixed_class_us = cost.fixed.by_class_us;
  run.fixed_coverage_us = cost.fixed.coverage_us;
}

DecodeRunTimes RunPrices::times(const DecodeRunFacts& run) const {
  StepShape shape = first_shape(run);
  add_steps(1, shape);
  const std::int64_t later = run.steps() - 1;
  const DecodeRunSum sum = model_->sum_run(shape, later);
  DecodeRunTimes times;
  const auto n = static_cast<double>(later);
  for (std::size_t i = 0; i < kOpClasses; ++i) times.class_us[i] = n * sum.fixed.by_class_us[i];
  for (std::size_t i = 0; i < kCoverageKinds; ++i) {
    times.coverage_us[i] = n * sum.fixed.coverage_us[i] + sum.changing_us[i];
    times.class_us[static_cast<std::size_t>(sum.changing)] += sum.changing_us[i];
  }
  return times;
}

void RunPrices::price(DecodeRunRecord& run, DecodeRunBuffers& buffers) const {
  const StepShape shape = first_shape(run);
  DecodeRunCost cost;
  const auto swap_rooms = [&] {
    cost.gpu_us.swap(buffers.gpu_us);
    cost.from.swap(buffers.from);
    cost.all_us.swap(buffers.all_us);
    cost.all_from.swap(buffers.all_from);
  };
  swap_rooms();
  model_->price_run(shape, run.steps(), cost);
  fill_in(cost, run);
  swap_rooms();  // what the views show moves with its vectors
}

}  // namespace headway
