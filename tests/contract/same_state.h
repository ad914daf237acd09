#pragma once

#include <deque>

#include "sim/scheduling/scheduler.h"

namespace headway::contract {

// Two schedulers that were given the same work in different ways, and their sequences in the same
// order. Throws InternalError at the first thing that tells them apart: queues, KV, progress, block
// tables. Settles both.
void same_state(Scheduler& a, const std::deque<Sequence>& sequences_a, Scheduler& b,
                const std::deque<Sequence>& sequences_b);

}  // namespace headway::contract
