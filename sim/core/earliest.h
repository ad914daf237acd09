#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/sim_time.h"

namespace headway {

// An instant for each of n holders, which move often, and the earliest of them: a tournament in which
// a change replays one path. Of equal instants the holder of lower number comes first.
class Earliest {
 public:
  explicit Earliest(std::size_t holders)
      : leaves_(std::bit_ceil(holders)), winners_(2 * leaves_), times_(leaves_, SimTime::never()) {
    for (std::size_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = static_cast<std::uint32_t>(i);
    for (std::size_t i = leaves_; i-- > 1;) winners_[i] = winners_[2 * i];
  }

  SimTime time(std::uint32_t holder) const { return times_[holder]; }
  void set(std::uint32_t holder, SimTime time) {
    if (times_[holder] == time) return;
    times_[holder] = time;
    for (std::size_t i = (leaves_ + holder) / 2; i >= 1; i /= 2) {
      const std::uint32_t left = winners_[2 * i], right = winners_[2 * i + 1];
      const std::uint32_t before = winners_[i], now = times_[right] < times_[left] ? right : left;
      winners_[i] = now;
      if (before != holder && now != holder) return;  // further up nothing looks at its time
    }
  }
  std::uint32_t first() const { return leaves_ == 1 ? 0 : winners_[1]; }
  SimTime first_time() const { return times_[first()]; }

 private:
  std::size_t leaves_;
  std::vector<std::uint32_t> winners_;  // [1] of all; the leaves stand behind the inner nodes
  std::vector<SimTime> times_;
};

}  // namespace headway
