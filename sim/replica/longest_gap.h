#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/core/sim_time.h"

namespace headway {

// The longest of the gaps that ended with any of the last steps: for a sequence that had a token at
// the end of each step entered here, without looking at it once a step. Gaps that a later one
// reaches are forgotten, so that those kept become ever shorter.
class LongestGap {
 public:
  // Steps come in order. Several at once, where nobody will ask from within: the last and the longest.
  void add(std::uint64_t step, SimTime gap) {
    while (!gaps_.empty() && gaps_.back().gap <= gap) gaps_.pop_back();
    Entry& entry = gaps_.emplace_back();  // not copied: core/in_place.h
    entry.step = step;
    entry.gap = gap;
  }
  // Among the steps from that one on; none if there is none.
  SimTime since(std::uint64_t step) const {
    const auto longest =
        std::lower_bound(gaps_.begin(), gaps_.end(), step,
                         [](const Entry& e, std::uint64_t s) { return e.step < s; });
    return longest == gaps_.end() ? SimTime() : longest->gap;
  }

 private:
  struct Entry {
    std::uint64_t step = 0;
    SimTime gap;
  };
  std::vector<Entry> gaps_;  // steps ascend, gaps descend
};

}  // namespace headway
