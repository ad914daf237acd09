#include "sim/metrics/value_sketch.h"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"

namespace headway {
namespace {

constexpr std::int64_t kPerOctave = ValueSketch::kPerOctave;

// Buckets 0..2047 are the values 0..2047; then 1024 an octave, shift by shift.
// The middle of what falls into a bucket.
double middle_of(std::size_t bucket) {
  const auto index = static_cast<std::int64_t>(bucket);
  if (index < 2 * kPerOctave) return static_cast<double>(index);
  const std::int64_t shift = index / kPerOctave - 1;
  const auto first =
      std::ldexp(static_cast<double>(index - shift * kPerOctave), static_cast<int>(shift));
  return first + (std::ldexp(1.0, static_cast<int>(shift)) - 1) / 2;
}

}  // namespace

void ValueSketch::add(std::int64_t value, std::int64_t count) {
  SIM_CHECK(value >= 0 && count >= 0, "a sketch of negative values");
  if (count == 0) return;
  const std::size_t bucket = bucket_of(value);
  if (bucket >= counts_.size()) grow_to(bucket);
  counts_[bucket] += count;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += count;
  const Wide sum = static_cast<Wide>(value) * count;
  sum_ += sum;
  squares_ += static_cast<WideBits>(sum) * static_cast<WideBits>(value);
}

// Whole octaves at a time. A negative value, which add_all() refuses, would land far beyond.
void ValueSketch::grow_to(std::size_t bucket) {
  constexpr std::size_t kMost = 64 * static_cast<std::size_t>(kPerOctave);
  SIM_CHECK(bucket < kMost, "a sketch of negative values");
  counts_.resize((bucket / kPerOctave + 1) * static_cast<std::size_t>(kPerOctave));
}

void ValueSketch::merge(const ValueSketch& other) {
  if (other.count_ == 0) return;
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
  squares_ += other.squares_;
}

ValueSketch::Place ValueSketch::locate(std::int64_t rank) const { return locate(rank, Place()); }

ValueSketch::Place ValueSketch::locate(std::int64_t rank, Place from) const {
  Place place = from;
  while (place.below + counts_[place.bucket] <= rank) place.below += counts_[place.bucket++];
  return place;
}

double ValueSketch::order_statistic(std::int64_t rank) const {
  if (rank == 0) return static_cast<double>(min_);
  if (rank == count_ - 1) return static_cast<double>(max_);
  return std::clamp(middle_of(locate(rank).bucket), static_cast<double>(min_), static_cast<double>(max_));
}

double ValueSketch::percentile(double q) const {
  SIM_CHECK(count_ > 0 && q >= 0 && q <= 100, "a percentile of nothing, or outside 0..100");
  const double position = q / 100.0 * static_cast<double>(count_ - 1);
  const double whole = std::floor(position);
  const auto rank = static_cast<std::int64_t>(whole);
  const double low = order_statistic(rank);
  if (position == whole) return low;
  return low + (order_statistic(std::min(rank + 1, count_ - 1)) - low) * (position - whole);
}

Distribution ValueSketch::moments(double unit) const {
  Distribution d;
  d.count = count_;
  if (count_ == 0) return d;
  const double n = static_cast<double>(count_);
  // About the whole part of the mean, as distribution_of() has it.
  const Wide centre = sum_ / count_;
  const auto c = static_cast<WideBits>(centre);
  const auto about = static_cast<Wide>(squares_ - 2 * c * static_cast<WideBits>(sum_) +
                                       c * c * static_cast<WideBits>(count_));
  const double rest = static_cast<double>(sum_ - centre * count_) / n;
  d.mean = static_cast<double>(sum_) / n / unit;
  d.std = std::sqrt(std::max(0.0, static_cast<double>(about) / n - rest * rest)) / unit;
  d.min = static_cast<double>(min_) / unit;
  d.max = static_cast<double>(max_) / unit;
  return d;
}

Distribution ValueSketch::distribution(double unit) const {
  Distribution d = moments(unit);
  if (count_ == 0) return d;
  d.median = d.p50 = percentile(50) / unit;
  d.p90 = percentile(90) / unit;
  d.p95 = percentile(95) / unit;
  d.p99 = percentile(99) / unit;
  return d;
}

}  // namespace headway
