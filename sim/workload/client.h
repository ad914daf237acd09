#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/workload/request_source.h"

namespace headway {

// The load generator: decides when each request of a source is sent.
//
//  - open loop: at its arrival;
//  - closed loop (max_concurrency > 0): at most that many in flight. A request that is due while
//    all places are taken is held; its clock (`arrival`) starts when it is sent, as in vLLM's
//    benchmark, and the time it was kept back is left in Request::held;
//  - sessions: a turn is sent think_time after the turn before it has finished, and never before
//    its own arrival. Turns of one session never overlap.
//
// Among requests that are due, the earliest goes first, then the lowest id. Every call costs
// O(log n); memory is one request read ahead plus the session turns that wait for an answer, plus
// some 40 bytes for each session that may still have a turn to come.
class Client {
 public:
  // Owns the source. REQUIRES: the source's arrivals do not decrease, its ids increase.
  // InputError: the source found a fault in its file while it was read (any call may throw it).
  Client(std::unique_ptr<RequestSource> source, std::int32_t max_concurrency);

  // The instant of the next send as far as is known now; never = none before some finish (or none at
  // all: see drained()). No sooner than a finish that has been announced.
  SimTime next_send() const;

  // Sends that request. Its arrival is the instant it was sent. REQUIRES: next_send() <= now.
  Request pop(SimTime now);

  // A request that was popped has finished, or was rejected. Its session goes on either way.
  // `session` is its session_id.
  void on_finish(std::uint64_t id, std::int64_t session, SimTime now);

  bool drained() const;  // every request of the source has been sent
  std::int64_t in_flight() const { return in_flight_; }
  std::int64_t sent() const { return sent_; }
  std::int64_t size_hint() const { return source_->size_hint(); }

 private:
  struct Due {
    Due(SimTime at, Request&& due) : time(at), request(std::move(due)) {}
    SimTime time;
    Request request;
  };
  struct Later {
    bool operator()(const Due& a, const Due& b) const {
      if (a.time != b.time) return a.time > b.time;
      return a.request.id > b.request.id;
    }
  };
  struct Session {
    SimTime last_finish;
    std::int32_t turns_read = 0;
    bool busy = false;  // a turn is due or in flight; later ones wait in turns_
  };

  void read_ahead();
  void file_turn(Request&& request);
  void push_due(SimTime time, Request&& request);
  bool full() const { return max_concurrency_ > 0 && in_flight_ >= max_concurrency_; }

  std::unique_ptr<RequestSource> source_;
  std::int32_t max_concurrency_;
  bool exhausted_ = false;
  SimTime horizon_;     // arrival of the request last read: nothing unread is due earlier
  SimTime place_free_;  // when the in-flight count last fell below the limit
  std::int64_t in_flight_ = 0;
  std::int64_t sent_ = 0;
  std::vector<Due> due_;  // a heap, earliest on top
  std::unordered_map<std::int64_t, Session> sessions_;
  std::map<std::pair<std::int64_t, std::uint64_t>, Request> turns_;  // by (session, id)
};

}  // namespace headway
