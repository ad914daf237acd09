#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/scheduling/sequence.h"

namespace headway {

// A batch of SGLang. One whose members ended keeps their seats until it is filtered: they count in
// its size, and what they had reserved stays reserved, although nothing of them runs any more.
struct SglangBatch {
  struct Member {
    Sequence* sequence = nullptr;    // null: it has ended
    std::uint64_t order = 0;         // Sequence::order, which names it even then
    std::int32_t output_budget = 0;  // output tokens that the engine expects of it at most
    std::int32_t output_left = 0;    // of those, what an ended one left unused
  };

  std::vector<Member> members;
  bool full = false;  // admission is off until the batch has shrunk (`batch_is_full`)
  std::int32_t ended = 0;  // empty seats

  bool empty() const { return members.empty(); }
  std::int32_t size() const { return static_cast<std::int32_t>(members.size()); }

  // Empties the seat of a sequence that has ended, if it has one here.
  void note_ended(const Sequence& sequence) {
    for (Member& m : members) {
      if (m.sequence != &sequence) continue;
      m.output_left = m.output_budget - sequence.output_tokens;
      m.sequence = nullptr;
      ++ended;
    }
  }
  // Takes the empty seats away.
  void filter() {
    if (std::exchange(ended, 0) == 0) return;
    std::erase_if(members, [](const Member& m) { return m.sequence == nullptr; });
  }
  void remove(const Sequence* sequence) {
    std::erase_if(members, [=](const Member& m) { return m.sequence == sequence; });
  }
};

}  // namespace headway
