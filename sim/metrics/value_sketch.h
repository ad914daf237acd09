#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/errors.h"
#include "sim/metrics/statistics.h"

namespace headway {

// A sample of whole numbers >= 0 in bounded memory: how many fell into each of a fixed set of buckets
// whose width grows with their value (Tene's HdrHistogram; DDSketch's bound with a cheaper mapping).
// Values below 2048 have a bucket each; above, every octave is cut into 1024 equal buckets, and a
// value is taken for the middle of its bucket: at most 1/2048 (0.05 %) off. So is every percentile,
// since order statistics keep their order. The bucket is read off the number's binary digits, so
// that every machine counts alike, and sketches of parts add up to the sketch of the whole.
//
// Count, mean, std, minimum and maximum are exact: the same bits as distribution_of() gives for the
// whole list. Memory: 8 bytes a bucket up to the largest value, 256 KiB for a range of 1 ns to 1 h,
// 450 KiB at most.
class ValueSketch {
 public:
  static constexpr double kRelativeError = 1.0 / 2048;  // of a percentile
  static constexpr int kDigits = 10;  // binary digits of a value that its bucket keeps below the first
  static constexpr std::int64_t kPerOctave = std::int64_t{1} << kDigits;

  // REQUIRES: value >= 0, count >= 0; the squares about the mean, summed, below 2^127.
  void add(std::int64_t value, std::int64_t count = 1);
  // add(value_of(i), count) for every i < n.
  template <typename ValueOf>
  void add_all(std::size_t n, std::int64_t count, ValueOf value_of);
  void merge(const ValueSketch& other);

  std::int64_t count() const { return count_; }
  // Which bucket holds a value; the number of buckets used.
  static std::size_t bucket_of(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    const int shift = std::max(0, static_cast<int>(std::bit_width(bits)) - 1 - kDigits);
    return static_cast<std::size_t>(shift * kPerOctave + static_cast<std::int64_t>(bits >> shift));
  }
  std::size_t buckets() const { return counts_.size(); }
  // The bucket in which the value of that rank lies (0 = the least), and how many lie below it.
  // REQUIRES: 0 <= rank < count().
  struct Place {
    std::size_t bucket = 0;
    std::int64_t below = 0;
  };
  Place locate(std::int64_t rank) const;
  Place locate(std::int64_t rank, Place from) const;  // goes on from the place of a lower rank
  // REQUIRES: not empty, 0 <= q <= 100. Linear between order statistics, as percentile().
  double percentile(double q) const;
  // In units of 1/`unit`, as distribution_of() for runs. All zero when empty.
  Distribution distribution(double unit) const;
  // The same without percentiles: what is exact.
  Distribution moments(double unit) const;

 private:
  __extension__ typedef __int128 Wide;
  __extension__ typedef unsigned __int128 WideBits;

  void grow_to(std::size_t bucket);
  double order_statistic(std::int64_t rank) const;

  std::vector<std::int64_t> counts_;  // by bucket
  std::int64_t count_ = 0, min_ = 0, max_ = 0;
  Wide sum_ = 0;
  WideBits squares_ = 0;  // modulo 2^128: only the squares about the mean have to fit
};

template <typename ValueOf>
void ValueSketch::add_all(std::size_t n, std::int64_t count, ValueOf value_of) {
  if (n == 0 || count == 0) return;
  const std::int64_t first = value_of(0);
  std::int64_t least = first, most = first;
  // About the first value, so that the sums of a run of neighbours fit one word; else they are taken
  // as they are.
  constexpr std::int64_t kNear = std::int64_t{1} << 24;
  Wide sum = 0;
  WideBits squares = 0;
  std::int64_t near_sum = 0;
  std::uint64_t near_squares = 0, near = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t value = value_of(i);
    const std::size_t bucket = bucket_of(value);
    if (bucket >= counts_.size()) grow_to(bucket);
    counts_[bucket] += count;
    least = std::min(least, value);
    most = std::max(most, value);
    const std::int64_t off = value - first;
    if (off < kNear && off > -kNear && i < 0x8000) {
      ++near;
      near_sum += off;
      near_squares += static_cast<std::uint64_t>(off * off);
    } else {
      sum += value;
      squares += static_cast<WideBits>(value) * static_cast<WideBits>(value);
    }
  }
  const auto at = static_cast<WideBits>(first);
  sum += static_cast<Wide>(first) * static_cast<Wide>(near) + near_sum;
  squares += at * at * near + 2 * at * static_cast<WideBits>(static_cast<Wide>(near_sum)) + near_squares;
  SIM_CHECK(least >= 0, "a sketch of negative values");
  min_ = count_ == 0 ? least : std::min(min_, least);
  max_ = std::max(max_, most);
  count_ += static_cast<std::int64_t>(n) * count;
  sum_ += sum * count;
  squares_ += squares * static_cast<WideBits>(count);
}

}  // namespace headway
