#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "sim/core/random.h"
#include "sim/kv/token_pool.h"
#include "sim/scheduling/sequence.h"

namespace headway {

// The orders of SGLang's waiting queue (v0.5.5.post3, managers/schedule_policy.py). An order is
// imposed on the queue itself before each round of admissions, so it outlasts the round.
//
//  fcfs        as they came (a retracted sequence at the tail)
//  lpm         longest prefix in the tree first; fcfs while more than 128 wait. One that finds at
//  most
//              32 tokens there, but shares at least 32 with another that waits ahead of it, goes
//              last: it may find them computed later
//  dfs-weight  depth first through the tree, the subtree that most of the waiting end in first
//  lof         largest output limit first
//  random      shuffled
//
// Looking a waiting sequence up refreshes the access times of what it finds. Without prefix caching
// lpm and dfs-weight are fcfs.
class SglangPolicy {
 public:
  // InputError for a name that is none.
  SglangPolicy(const std::string& name, bool prefix_caching, std::uint64_t seed);

  // output_budget: output limit by slot.
  void sort(std::deque<Sequence*>& waiting, const std::vector<std::int32_t>& output_budget,
            TokenPool& pool);

 private:
  enum class Order : std::uint8_t { kFcfs, kLpm, kDfsWeight, kLof, kRandom };

  void by_longest_prefix(std::deque<Sequence*>& waiting, TokenPool& pool);
  void shuffle(std::deque<Sequence*>& waiting);

  Order order_ = Order::kFcfs;
  RadixCache in_batch_{1};  // what waits, as a tree of its own
  RandomStream stream_;
};

}  // namespace headway
