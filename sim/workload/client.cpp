#include "sim/workload/client.h"

#include <algorithm>

#include "sim/core/errors.h"

namespace headway {

Client::Client(std::unique_ptr<RequestSource> source, std::int32_t max_concurrency)
    : source_(std::move(source)), max_concurrency_(max_concurrency) {
  SIM_CHECK(source_ != nullptr);
  read_ahead();
}

// Reads until nothing unread can be due before what is known to be due. Unread requests have later
// arrivals and higher ids, so a tie goes to the one already read.
void Client::read_ahead() {
  while (!exhausted_ && (due_.empty() || due_.front().time > horizon_)) {
    std::optional<Request> request = source_->next();
    if (!request) {
      exhausted_ = true;
      return;
    }
    SIM_CHECK(request->arrival >= horizon_, "a source's arrivals may not go back");
    horizon_ = request->arrival;
    if (request->session_id >= 0) {
      file_turn(std::move(*request));
    } else {
      push_due(request->arrival, std::move(*request));
    }
  }
}

void Client::file_turn(Request&& request) {
  Session& session = sessions_[request.session_id];
  const std::int32_t turn = session.turns_read++;
  if (request.turn == 0) request.turn = turn;  // a log names the session, rarely the turn
  if (session.busy) {
    turns_.emplace(std::pair(request.session_id, request.id), std::move(request));
    return;
  }
  session.busy = true;
  SimTime time = request.arrival;
  if (turn > 0) time = std::max(time, session.last_finish + request.think_time);
  push_due(time, std::move(request));
}

void Client::push_due(SimTime time, Request&& request) {
  due_.emplace_back(time, std::move(request));
  std::push_heap(due_.begin(), due_.end(), Later{});
}

SimTime Client::next_send() const {
  if (full() || due_.empty()) return SimTime::never();
  return std::max(due_.front().time, place_free_);
}

Request Client::pop(SimTime now) {
  SIM_CHECK(!full() && !due_.empty(), "nothing can be sent");
  std::pop_heap(due_.begin(), due_.end(), Later{});
  const SimTime time = due_.back().time;
  Request request = std::move(due_.back().request);
  due_.pop_back();
  request.arrival = std::max(time, place_free_);
  request.held = request.arrival - time;
  SIM_CHECK(request.arrival <= now, "sent before it is due");
  ++in_flight_;
  ++sent_;
  read_ahead();
  return request;
}

void Client::on_finish(std::uint64_t /*id*/, std::int64_t session, SimTime now) {
  SIM_CHECK(in_flight_ > 0, "a finish without a request in flight");
  if (full()) place_free_ = std::max(place_free_, now);
  --in_flight_;
  if (session < 0) return;
  const auto entry = sessions_.find(session);
  SIM_CHECK(entry != sessions_.end() && entry->second.busy, "a finish of a turn that was not sent");
  entry->second.last_finish = now;
  entry->second.busy = false;
  const auto turn = turns_.lower_bound({session, 0});
  if (turn == turns_.end() || turn->first.first != session) {
    // Without unread requests no turn can follow.
    if (exhausted_) sessions_.erase(entry);
    return;
  }
  Request request = std::move(turn->second);
  turns_.erase(turn);
  entry->second.busy = true;
  const SimTime time = std::max(request.arrival, now + request.think_time);
  push_due(time, std::move(request));
}

bool Client::drained() const { return exhausted_ && due_.empty() && turns_.empty(); }

}  // namespace headway
