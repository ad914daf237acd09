#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "sim/core/errors.h"
#include "sim/scheduling/sequence.h"

namespace headway {

// A queue ordered by (rank, arrival order), smallest first. With all ranks equal it is first come
// first served, and a preempted sequence comes back ahead of everything younger: the place that
// engines give it by pushing it to the front.
class WaitingLine {
 public:
  void push(Sequence& sequence, std::int64_t rank) {
    const bool is_new = line_.insert({rank, sequence.order, &sequence}).second;
    SIM_CHECK(is_new, "sequence queued twice, or two with one order number");
  }
  // REQUIRES: the rank it was pushed with.
  void erase(Sequence& sequence, std::int64_t rank) {
    const auto count = line_.erase({rank, sequence.order, &sequence});
    SIM_CHECK(count == 1, "sequence is not queued here");
  }
  // nullptr when empty.
  Sequence* front() const { return line_.empty() ? nullptr : line_.begin()->sequence; }
  std::int64_t front_rank() const { return line_.begin()->rank; }  // REQUIRES: not empty
  bool empty() const { return line_.empty(); }
  void append_to(std::vector<const Sequence*>& out) const {
    for (const Entry& entry : line_) out.push_back(entry.sequence);
  }

 private:
  struct Entry {
    std::int64_t rank;
    std::uint64_t order;
    Sequence* sequence;
    bool operator<(const Entry& other) const {
      return rank != other.rank ? rank < other.rank : order < other.order;
    }
  };
  std::set<Entry> line_;
};

}  // namespace headway
