#include "sim/metrics/statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <cstddef>

#include "sim/core/errors.h"

namespace headway {
namespace {

__extension__ typedef __int128 Wide;

std::int64_t count_of(std::span<const ValueRun> runs) {
  std::int64_t count = 0;
  for (const ValueRun& run : runs) count += run.count;
  return count;
}

double percentile_of(std::span<const ValueRun> sorted, std::int64_t count, double q) {
  const Rank rank = rank_of(count, q);
  std::size_t i = 0;
  std::int64_t end = sorted[0].count;  // ranks below it lie in runs 0..i
  while (end <= rank.index) end += sorted[++i].count;
  const std::size_t next = end > rank.index + 1 || i + 1 == sorted.size() ? i : i + 1;
  return interpolate(static_cast<double>(sorted[i].value), static_cast<double>(sorted[next].value),
                     rank.fraction);
}

template <typename Percentile>
void fill_percentiles(Distribution& d, const Percentile& at) {
  d.min = at(0.0);
  d.median = d.p50 = at(50.0);
  d.p90 = at(90.0);
  d.p95 = at(95.0);
  d.p99 = at(99.0);
  d.max = at(100.0);
}

}  // namespace

double interpolate(double low, double high, double t) {
  return t >= 0.5 ? high - (high - low) * (1 - t) : low + (high - low) * t;
}

Rank rank_of(std::int64_t count, double q) {
  SIM_CHECK(count > 0 && q >= 0 && q <= 100, "a percentile of nothing, or outside 0..100");
  const double position = q / 100.0 * static_cast<double>(count - 1);
  const double whole = std::floor(position);
  return {static_cast<std::int64_t>(whole), position - whole};
}

double percentile(std::span<const double> sorted, double q) {
  const Rank rank = rank_of(static_cast<std::int64_t>(sorted.size()), q);
  const auto low = static_cast<std::size_t>(rank.index);
  return interpolate(sorted[low], sorted[std::min(low + 1, sorted.size() - 1)], rank.fraction);
}

double percentile(std::span<const ValueRun> sorted, double q) {
  return percentile_of(sorted, count_of(sorted), q);
}

namespace {

// By the bits that the values use, eleven at a time, lowest first.
void sort_by_digits(std::vector<ValueRun>& runs, std::uint64_t used_bits) {
  constexpr int kBits = 11;
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
  std::vector<ValueRun> other(runs.size());
  std::vector<std::size_t> start(kMask + 1);
  for (int shift = 0; shift < 63 && used_bits >> shift != 0; shift += kBits) {
    const auto digit = [shift](const ValueRun& run) {
      return static_cast<std::size_t>(static_cast<std::uint64_t>(run.value) >> shift & kMask);
    };
    std::fill(start.begin(), start.end(), 0);
    for (const ValueRun& run : runs) ++start[digit(run)];
    std::size_t sum = 0;
    for (std::size_t& s : start) sum += std::exchange(s, sum);
    for (const ValueRun& run : runs) other[start[digit(run)]++] = run;
    runs.swap(other);
  }
}

void sort_by_value(std::vector<ValueRun>& runs) {
  constexpr std::size_t kFew = 4096;
  std::int64_t least = 0;
  std::uint64_t used_bits = 0;
  for (const ValueRun& run : runs) {
    least = std::min(least, run.value);
    used_bits |= static_cast<std::uint64_t>(run.value);
  }
  if (runs.size() > kFew && least >= 0) {
    sort_by_digits(runs, used_bits);
  } else {
    std::sort(runs.begin(), runs.end(),
              [](const ValueRun& a, const ValueRun& b) { return a.value < b.value; });
  }
}

}  // namespace

void sort_and_merge(std::vector<ValueRun>& runs) {
  sort_by_value(runs);
  std::size_t kept = 0;
  for (const ValueRun& run : runs) {
    if (run.count == 0) continue;
    if (kept > 0 && runs[kept - 1].value == run.value) {
      runs[kept - 1].count += run.count;
    } else {
      runs[kept++] = run;
    }
  }
  runs.resize(kept);
}

Distribution distribution_of(std::vector<double> values) {
  Distribution d;
  if (values.empty()) return d;
  std::sort(values.begin(), values.end());
  const auto n = static_cast<long double>(values.size());
  d.count = static_cast<std::int64_t>(values.size());
  long double sum = 0;
  for (double value : values) sum += value;
  const long double mean = sum / n;
  long double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  d.mean = static_cast<double>(mean);
  d.std = static_cast<double>(std::sqrt(squares / n));
  fill_percentiles(d, [&](double q) { return percentile(values, q); });
  return d;
}

Distribution distribution_of(std::span<const ValueRun> sorted, double unit) {
  Distribution d;
  d.count = count_of(sorted);
  if (d.count == 0) return d;
  const double n = static_cast<double>(d.count);
  Wide sum = 0;
  for (const ValueRun& run : sorted) sum += static_cast<Wide>(run.value) * run.count;
  // Squares about the whole part of the mean: exact in 128 bits, then one small correction.
  const Wide centre = sum / d.count;
  Wide squares = 0;
  for (const ValueRun& run : sorted) {
    const Wide away = run.value - centre;
    squares += away * away * run.count;
  }
  const double rest = static_cast<double>(sum - centre * d.count) / n;
  d.mean = static_cast<double>(sum) / n / unit;
  d.std = std::sqrt(std::max(0.0, static_cast<double>(squares) / n - rest * rest)) / unit;
  fill_percentiles(d, [&](double q) { return percentile_of(sorted, d.count, q) / unit; });
  return d;
}

}  // namespace headway
