#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <vector>

#include "sim/scheduling/sequence.h"

namespace headway {

// Under the priority policy: smaller priority first, then earlier arrival, then earlier admission.
inline bool more_urgent(const Sequence* a, const Sequence* b) {
  if (a->priority != b->priority) return a->priority < b->priority;
  if (a->arrival != b->arrival) return a->arrival < b->arrival;
  return a->order < b->order;
}

// The waiting queue of vLLM V1 (v0.16.0, vllm/v1/core/sched/request_queue.py): first come first
// served, with preempted sequences put back at the head; or the most urgent first, where a
// preempted one takes its old place.
class WaitingQueue {
 public:
  explicit WaitingQueue(bool by_priority) : by_priority_(by_priority) {}

  bool empty() const { return size() == 0; }
  std::size_t size() const { return by_priority_ ? ranked_.size() : line_.size(); }
  Sequence* front() const { return by_priority_ ? *ranked_.begin() : line_.front(); }

  void push_arrival(Sequence* sequence) {
    if (by_priority_) {
      ranked_.insert(sequence);
    } else {
      line_.push_back(sequence);
    }
  }
  void push_preempted(Sequence* sequence) {
    if (by_priority_) {
      ranked_.insert(sequence);
    } else {
      line_.push_front(sequence);
    }
  }
  void pop_front() {
    if (by_priority_) {
      ranked_.erase(ranked_.begin());
    } else {
      line_.pop_front();
    }
  }
  // No effect when it is not there.
  void remove(Sequence* sequence) {
    if (by_priority_) {
      ranked_.erase(sequence);
    } else {
      std::erase(line_, sequence);
    }
  }
  template <typename Visit>
  void each(const Visit& visit) const {
    for (const Sequence* s : line_) visit(s);
    for (const Sequence* s : ranked_) visit(s);
  }
  // In the order in which they would be served.
  std::vector<const Sequence*> list() const {
    if (by_priority_) return {ranked_.begin(), ranked_.end()};
    return {line_.begin(), line_.end()};
  }

 private:
  struct MoreUrgent {
    bool operator()(const Sequence* a, const Sequence* b) const { return more_urgent(a, b); }
  };

  bool by_priority_;
  std::deque<Sequence*> line_;
  std::set<Sequence*, MoreUrgent> ranked_;
};

}  // namespace headway
