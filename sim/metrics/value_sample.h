#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/metrics/statistics.h"
#include "sim/metrics/value_sketch.h"

namespace headway {

// A sample of whole numbers >= 0. Exact as long as it may keep them all: a sketch finds the few
// buckets in which the order statistics lie that are asked for, and only what fell into those is
// sorted. With more values than that they are forgotten, and the sketch alone answers.
//
// Memory: 8 bytes a value and 16 bytes a stretch of values of equal count, beside the sketch's.
class ValueSample {
 public:
  // Keeps at most `most_kept` values; one that occurs several times at once counts once.
  explicit ValueSample(std::size_t most_kept) : most_kept_(most_kept) {}

  // REQUIRES: value >= 0, count > 0.
  void add(std::int64_t value, std::int64_t count = 1) {
    sketch_.add(value, count);
    if (!exact_) return;
    stretch(1, count);
    if (room_ == 0) add_chunk();
    *next_++ = value;
    --room_;
    if (++kept_ > most_kept_) forget();
  }
  // add(value_of(i), count) for every i < n.
  template <typename ValueOf>
  void add_all(std::size_t n, std::int64_t count, ValueOf value_of) {
    sketch_.add_all(n, count, value_of);
    keep_all(n, count, value_of);
  }
  // The same of values whose sums are known.
  template <typename ValueOf>
  void add_all(std::size_t n, std::int64_t count, const ValueSums& sums, ValueOf value_of) {
    sketch_.add_all(n, count, sums, value_of);
    keep_all(n, count, value_of);
  }
  // From now on the sketch answers.
  void forget();

  bool exact() const { return exact_; }
  std::int64_t count() const { return sketch_.count(); }
  // Linear between order statistics. REQUIRES: not empty, 0 <= q <= 100.
  std::vector<double> percentiles(std::span<const double> qs) const;
  // In units of 1/`unit`. All zero when empty.
  Distribution distribution(double unit) const;

 private:
  static constexpr std::size_t kChunk = 4096;
  struct Stretch {  // of the values kept, each of which occurred so many times
    std::size_t values;
    std::int64_t count;
  };
  template <typename ValueOf>
  void keep_all(std::size_t n, std::int64_t count, ValueOf value_of) {
    if (!exact_ || n == 0) return;
    stretch(n, count);
    for (std::size_t i = 0; i < n;) {
      if (room_ == 0) add_chunk();
      const std::size_t here = std::min(n - i, room_);
      for (std::size_t k = 0; k < here; ++k) next_[k] = value_of(i + k);
      next_ += here;
      room_ -= here;
      i += here;
    }
    kept_ += n;
    if (kept_ > most_kept_) forget();
  }
  void add_chunk();
  void stretch(std::size_t values, std::int64_t count) {
    if (stretches_.empty() || stretches_.back().count != count) stretches_.push_back({0, count});
    stretches_.back().values += values;
  }

  std::size_t most_kept_;
  bool exact_ = true;
  ValueSketch sketch_;
  std::vector<std::unique_ptr<std::int64_t[]>> chunks_;  // growing copies nothing
  std::int64_t* next_ = nullptr;                         // place in the last chunk, and how many are left
  std::size_t room_ = 0, kept_ = 0;
  std::vector<Stretch> stretches_;
};

}  // namespace headway
