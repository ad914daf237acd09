#include "sim/metrics/value_sample.h"

#include <algorithm>

#include "sim/core/errors.h"

namespace headway {
namespace {

// What fell into the buckets in which order statistics are wanted, and the ranks that it takes.
class Refinement {
 public:
  Refinement(const ValueSketch& sketch, const std::vector<std::int64_t>& ranks)
      : wanted_(sketch.buckets(), 0) {
    ValueSketch::Place place;
    for (const std::int64_t rank : ranks) {
      place = sketch.locate(rank, place);
      wanted_[place.bucket] = 1;
      if (places_.empty() || places_.back().bucket != place.bucket) places_.push_back(place);
    }
  }

  // Few are wanted, and neighbours are alike: several at a time, with a branch for all of them.
  void look_at(const std::int64_t* values, std::size_t n, std::int64_t count) {
    constexpr std::size_t kBlock = 16;
    const std::uint8_t* wanted = wanted_.data();
    for (std::size_t i = 0; i < n; i += kBlock) {
      const std::size_t end = std::min(i + kBlock, n);
      std::uint8_t any = 0;
      for (std::size_t k = i; k < end; ++k) any |= wanted[ValueSketch::bucket_of(values[k])];
      if (any == 0) continue;
      for (std::size_t k = i; k < end; ++k) {
        if (wanted[ValueSketch::bucket_of(values[k])] != 0) runs_.push_back({values[k], count});
      }
    }
  }

  // REQUIRES: every value has been looked at; ranks that were named, in ascending order.
  std::vector<std::int64_t> values_at(const std::vector<std::int64_t>& ranks) {
    sort_and_merge(runs_);
    std::vector<std::int64_t> values;
    std::size_t run = 0, place = 0;
    std::int64_t below = places_.empty() ? 0 : places_[0].below;  // ranks before runs_[run]
    for (const std::int64_t rank : ranks) {
      while (below + runs_[run].count <= rank) {
        below += runs_[run++].count;
        if (ValueSketch::bucket_of(runs_[run].value) != places_[place].bucket) {
          below = places_[++place].below;
        }
      }
      values.push_back(runs_[run].value);
    }
    return values;
  }

 private:
  std::vector<std::uint8_t> wanted_;        // by bucket
  std::vector<ValueSketch::Place> places_;  // ascending
  std::vector<ValueRun> runs_;
};

}  // namespace

void ValueSample::forget() {
  exact_ = false;
  chunks_.clear();
  stretches_ = {};
  next_ = nullptr;
  room_ = 0;
}

void ValueSample::add_chunk() {
  chunks_.push_back(std::make_unique_for_overwrite<std::int64_t[]>(kChunk));
  next_ = chunks_.back().get();
  room_ = kChunk;
}

std::vector<double> ValueSample::percentiles(std::span<const double> qs) const {
  std::vector<double> out;
  if (!exact_) {
    for (const double q : qs) out.push_back(sketch_.percentile(q));
    return out;
  }
  std::vector<std::int64_t> ranks;
  for (const double q : qs) {
    const Rank rank = rank_of(count(), q);
    ranks.push_back(rank.index);
    ranks.push_back(std::min(rank.index + 1, count() - 1));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  Refinement refinement(sketch_, ranks);
  std::size_t i = 0;
  for (const Stretch& stretch : stretches_) {
    for (std::size_t left = stretch.values; left > 0;) {
      const std::size_t here = std::min(left, kChunk - i % kChunk);
      refinement.look_at(chunks_[i / kChunk].get() + i % kChunk, here, stretch.count);
      i += here;
      left -= here;
    }
  }
  const std::vector<std::int64_t> values = refinement.values_at(ranks);
  const auto at = [&](std::int64_t rank) {
    const auto found = std::lower_bound(ranks.begin(), ranks.end(), rank);
    return static_cast<double>(values[static_cast<std::size_t>(found - ranks.begin())]);
  };
  for (const double q : qs) {
    const Rank rank = rank_of(count(), q);
    const std::int64_t next = std::min(rank.index + 1, count() - 1);
    out.push_back(interpolate(at(rank.index), at(next), rank.fraction));
  }
  return out;
}

Distribution ValueSample::distribution(double unit) const {
  if (!exact_) return sketch_.distribution(unit);
  Distribution d = sketch_.moments(unit);
  if (count() == 0) return d;
  const double qs[] = {50, 90, 95, 99};
  const std::vector<double> at = percentiles(qs);
  d.median = d.p50 = at[0] / unit;
  d.p90 = at[1] / unit;
  d.p95 = at[2] / unit;
  d.p99 = at[3] / unit;
  return d;
}

}  // namespace headway
