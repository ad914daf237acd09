#pragma once

#include <cstdint>
#include <vector>

#include "sim/scheduling/sequence.h"

namespace headway {

// The sequences of one request that asks for several samples of one prompt, or for a beam search,
// in an engine that shares their KV (SchedulerEntry::forks). Its first member, the leader, computes
// the prompt; the step that completes it samples a first token for every member, and the others
// are forked from the leader (PagedAttention, Kwon et al., SOSP'23, 4.4; vLLM V0's sequence
// groups).
//
// The replica owns members and group and hands the leader to Scheduler::add(); an engine without
// forks never sees a group, only n sequences that have nothing to do with each other. Addresses
// stay valid until every member has ended and no plan in flight names one.
struct SequenceGroup {
  std::vector<Sequence*> members;  // members[0] leads; all alike but for Sequence::sample
  bool beams = false;              // beam search: one answer, members.size() candidates of it

  // The scheduler's.
  bool forked = false;                            // the others have KV of their own
  std::vector<std::int32_t> preemptions_at_fork;  // by member: tells a stale first token

  Sequence& leader() const { return *members.front(); }
};

}  // namespace headway
