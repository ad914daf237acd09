#include "sim/metrics/observer.h"

#include <algorithm>
#include <limits>

#include "sim/metrics/decode_run.h"

namespace headway {

StepEndSums sum_step_ends(std::span<const SimTime> ends) {
  StepEndSums sums;
  if (ends.empty()) return sums;
  std::int64_t before = ends[0].ns(), sum = before;
  auto squares_of_ends = static_cast<std::uint64_t>(before) * static_cast<std::uint64_t>(before);
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  std::uint64_t squares = 0;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    const std::int64_t end = ends[i].ns(), gap = end - before;
    sum += end;
    squares_of_ends += static_cast<std::uint64_t>(end) * static_cast<std::uint64_t>(end);
    squares += static_cast<std::uint64_t>(gap) * static_cast<std::uint64_t>(gap);
    least = std::min(least, gap);
    most = std::max(most, gap);
    before = end;
  }
  sums = {sum, squares_of_ends, std::min(least, most), most, squares};
  constexpr std::int64_t kNear = std::int64_t{1} << 26;  // 2048 squares below it fit a word
  if (most < kNear && ends.size() <= 2048) return sums;
  sums.squares_of_gaps = 0;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    const auto gap = static_cast<StepEndSums::Squares>((ends[i] - ends[i - 1]).ns());
    sums.squares_of_gaps += gap * gap;
  }
  return sums;
}

StepRecord DecodeRunRecord::at(std::int64_t step) const {
  if (step == 0) return first;
  const auto i = static_cast<std::size_t>(step);
  StepRecord record = first;
  record.step += static_cast<std::uint64_t>(step);
  record.start = ends[i - 1];
  record.duration = ends[i] - ends[i - 1];
  record.gpu = record.duration - record.host;
  record.running -= given_back.running;
  record.kv_blocks += blocks_taken_by(step) - given_back.blocks;
  record.kv_tokens_reserved = record.kv_blocks * block_size;
  record.kv_tokens_stored += step * record.batch - given_back.tokens;
  record.by_class_us = fixed_class_us;
  record.coverage_us = fixed_coverage_us;
  const double changing_us = gpu_us[i] - fixed_us;
  record.by_class_us[changing_class] += changing_us;
  record.coverage_us[from[i]] += changing_us;
  return record;
}

void Observer::on_decode_run(const DecodeRunRecord& run) {
  for (std::int64_t step = 0; step < run.steps(); ++step) {
    const StepRecord record = run.at(step);
    const SimTime end = record.start + record.duration;
    if (step > 0) on_token_gaps(record.duration, record.batch, end);
    on_tokens(record.batch, end);
    on_step(record);
  }
}

}  // namespace headway
