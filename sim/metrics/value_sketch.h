#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/errors.h"
#include "sim/metrics/statistics.h"

namespace headway {

// Of several whole numbers >= 0.
struct ValueSums {
  __extension__ typedef __int128 Sum;
  __extension__ typedef unsigned __int128 Squares;
  Sum sum = 0;
  Squares squares = 0;
  std::int64_t least = 0, most = 0;
};

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
  // The same of values whose sums are known.
  template <typename ValueOf>
  void add_all(std::size_t n, std::int64_t count, const ValueSums& sums, ValueOf value_of);
  void merge(const ValueSketch& other);

  std::int64_t count() const { return count_; }
  // Which bucket holds a value; the number of buckets used.
  static std::size_t bucket_of(std::int64_t value) {
    const int shift = shift_of(value);
    return static_cast<std::size_t>(shift * kPerOctave + (value >> shift));
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
  using Wide = ValueSums::Sum;
  using WideBits = ValueSums::Squares;

  // A bucket of values as large as this one spans 2^shift of them.
  static int shift_of(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return std::max(0, static_cast<int>(std::bit_width(bits)) - 1 - kDigits);
  }
  template <typename ValueOf>
  void count_all(std::size_t n, std::int64_t count, std::int64_t least, std::int64_t most,
                 ValueOf value_of);
  void grow_to(std::size_t bucket);
  double order_statistic(std::int64_t rank) const;

  std::vector<std::int64_t> counts_;  // by bucket
  std::int64_t count_ = 0, min_ = 0, max_ = 0;
  Wide sum_ = 0;
  WideBits squares_ = 0;  // modulo 2^128: only the squares about the mean have to fit
};

template <typename ValueOf>
void ValueSketch::add_all(std::size_t n, std::int64_t count, ValueOf value_of) {
  if (n == 0) return;
  ValueSums sums{.sum = 0, .squares = 0, .least = value_of(0), .most = value_of(0)};
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t value = value_of(i);
    sums.least = std::min(sums.least, value);
    sums.most = std::max(sums.most, value);
    sums.sum += value;
    sums.squares += static_cast<ValueSums::Squares>(value) * static_cast<ValueSums::Squares>(value);
  }
  add_all(n, count, sums, value_of);
}

template <typename ValueOf>
void ValueSketch::add_all(std::size_t n, std::int64_t count, const ValueSums& sums,
                          ValueOf value_of) {
  if (n == 0 || count == 0) return;
  SIM_CHECK(sums.least >= 0, "a sketch of negative values");
  count_all(n, count, sums.least, sums.most, value_of);
  min_ = count_ == 0 ? sums.least : std::min(min_, sums.least);
  max_ = std::max(max_, sums.most);
  count_ += static_cast<std::int64_t>(n) * count;
  sum_ += sums.sum * count;
  squares_ += sums.squares * static_cast<WideBits>(count);
}

// Neighbours share a bucket, or at least the width of theirs.
template <typename ValueOf>
void ValueSketch::count_all(std::size_t n, std::int64_t count, std::int64_t least,
                            std::int64_t most, ValueOf value_of) {
  const std::size_t lowest = bucket_of(least), highest = bucket_of(most);
  if (highest >= counts_.size()) grow_to(highest);
  if (lowest == highest) {
    counts_[lowest] += static_cast<std::int64_t>(n) * count;
    return;
  }
  const int shift = shift_of(most), least_shift = shift_of(least);
  if (shift == least_shift) {
    // Neighbours often share a bucket, whose count would wait for the one before: values that lie apart
    // in turn.
    std::int64_t* const counts = counts_.data() + shift * kPerOctave;
    const std::size_t quarter = n / 4;
    for (std::size_t i = 0; i < quarter; ++i) {
      counts[value_of(i) >> shift] += count;
      counts[value_of(i + quarter) >> shift] += count;
      counts[value_of(i + 2 * quarter) >> shift] += count;
      counts[value_of(i + 3 * quarter) >> shift] += count;
    }
    for (std::size_t i = 4 * quarter; i < n; ++i) counts[value_of(i) >> shift] += count;
    return;
  }
  if (shift == least_shift + 1) {  // two octaves: the upper one's values have one digit more
    std::int64_t* const counts = counts_.data();
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t value = value_of(i);
      const std::int64_t its = least_shift + (value >> (kDigits + shift));
      counts[its * kPerOctave + (value >> its)] += count;
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i) counts_[bucket_of(value_of(i))] += count;
}

}  // namespace headway
