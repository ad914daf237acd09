#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/sim_time.h"

namespace headway {

// Rank among events at one instant. Free resources first, then admit, then let waiting policies
// look again, then observe, then stop. (When the simulation has to look at which replica moves often:
// it is kept in a tournament, that has kStepEnd's rank: core/earliest.h.)
enum class Phase : std::uint8_t { kStepEnd, kArrival, kWake, kSample, kStop };

// Events in one total order: (time, phase, rank, sequence of insertion). The rank makes the order
// of simultaneous events of several replicas independent of how long ago each was foreseen. Body is
// a std::variant of named event values, never a closure, so that a log can name it.
template <typename Body>
class EventQueue {
 public:
  struct Event {
    SimTime time;
    Phase phase;
    std::uint32_t rank;
    std::uint64_t sequence;
    Body body;
  };

  // REQUIRES: time >= now().
  void push(SimTime time, Phase phase, const Body& body, std::uint32_t rank = 0) {
    SIM_CHECK(time >= now_, "an event may not lie in the past");
    heap_.push(Event{time, phase, rank, next_sequence_++, body});
  }
  // For an event of rank 0 that its owner keeps beside the queue: its place in the sequence, as if it were
  // pushed now; and whether it comes before all that are here.
  std::uint64_t take_sequence() { return next_sequence_++; }
  bool comes_first(SimTime time, Phase phase, std::uint64_t sequence) const {
    return heap_.empty() || Later()(heap_.top(), Event{time, phase, 0, sequence, {}});
  }

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  SimTime now() const { return now_; }
  // REQUIRES: !empty().
  SimTime next_time() const { return heap_.top().time; }
  // The clock moves without an event. REQUIRES: now() <= time <= next_time().
  void advance(SimTime time) { now_ = time; }

  // REQUIRES: !empty(). Moves the clock to the event.
  Event pop() {
    Event event = heap_.top();
    heap_.pop();
    now_ = event.time;
    return event;
  }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      if (a.time != b.time) return a.time > b.time;
      if (a.phase != b.phase) return a.phase > b.phase;
      if (a.rank != b.rank) return a.rank > b.rank;
      return a.sequence > b.sequence;
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> heap_;
  std::uint64_t next_sequence_ = 0;
  SimTime now_;
};

}  // namespace headway
