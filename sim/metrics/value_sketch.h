#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

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
  // add(value_of(i), count) for every i < n; a few instructions a value where neighbours share a bucket.
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
  // REQUIRES: not empty, 0 <= q <= 100. Linear between order statistics, as percentile().
  double percentile(double q) const;
  // In units of 1/`unit`, as distribution_of() for runs. All zero when empty.
  Distribution distribution(double unit) const;

 private:
  __extension__ typedef __int128 Wide;
  __extension__ typedef unsigned __int128 WideBits;

  // Values of one bucket, that many of them `count` times each.
  struct Neighbours {
    std::int64_t number = 0, least = 0, most = 0;
    Wide sum = 0;
    WideBits squares = 0;
  };
  // The values that share the bucket of `value` end before this one.
  static std::int64_t bucket_end(std::int64_t value);
  void add(const Neighbours& values, std::int64_t count);
  double order_statistic(std::int64_t rank) const;

  std::vector<std::int64_t> counts_;  // by bucket
  std::int64_t count_ = 0, min_ = 0, max_ = 0;
  Wide sum_ = 0;
  WideBits squares_ = 0;  // modulo 2^128: only the squares about the mean have to fit
};

template <typename ValueOf>
void ValueSketch::add_all(std::size_t n, std::int64_t count, ValueOf value_of) {
  for (std::size_t i = 0; i < n;) {
    Neighbours together;
    std::int64_t value = value_of(i);
    together.least = together.most = value;
    const std::int64_t end = bucket_end(value), begin = value;
    // Those below the first one begin anew: runs of values grow as a rule.
    for (; value >= begin && value < end; value = value_of(i)) {
      ++together.number;
      together.most = value > together.most ? value : together.most;
      together.sum += value;
      together.squares += static_cast<WideBits>(value) * static_cast<WideBits>(value);
      if (++i == n) break;
    }
    add(together, count);
  }
}

}  // namespace headway
