#include "sim/workload/client.h"

#include <set>

#include "sim/core/errors.h"
#include "tests/support/catch.h"

namespace headway {
namespace {

struct Plan {
  double arrival_s;
  std::int64_t session = -1;
  double think_s = 0;
};

// A source written by hand that counts what was read from it.
class ListSource : public RequestSource {
 public:
  ListSource(std::vector<Plan> plans, int* reads) : plans_(std::move(plans)), reads_(reads) {}
  std::optional<Request> next() override {
    if (at_ == plans_.size()) return std::nullopt;
    if (reads_ != nullptr) ++*reads_;
    Request r;
    r.id = at_;
    r.arrival = SimTime::from_seconds(plans_[at_].arrival_s);
    r.prompt_tokens = r.output_tokens = 1;
    r.session_id = plans_[at_].session;
    r.think_time = SimTime::from_seconds(plans_[at_].think_s);
    ++at_;
    return r;
  }

 private:
  std::vector<Plan> plans_;
  std::size_t at_ = 0;
  int* reads_;
};

Client make(std::vector<Plan> plans, std::int32_t max_concurrency = 0, int* reads = nullptr) {
  return Client(std::make_unique<ListSource>(std::move(plans), reads), max_concurrency);
}

SimTime s(double seconds) { return SimTime::from_seconds(seconds); }

TEST_CASE("an open loop sends at the arrivals, whatever finishes", "[unit][client]") {
  Client client = make({{0.5}, {0.5}, {2.0}});
  REQUIRE(client.next_send() == s(0.5));
  CHECK(client.pop(s(0.5)).id == 0);
  CHECK(client.pop(s(0.5)).id == 1);
  CHECK(client.in_flight() == 2);
  REQUIRE(client.next_send() == s(2.0));
  CHECK_FALSE(client.drained());
  const Request last = client.pop(s(2.0));
  CHECK(last.arrival == s(2.0));
  CHECK(last.held == SimTime());
  CHECK(client.drained());
  CHECK(client.in_flight() == 3);
  CHECK(client.next_send() == SimTime::never());
  CHECK_THROWS_AS(client.pop(s(9)), InternalError);
}

TEST_CASE("a request popped late still arrived when it was due", "[unit][client]") {
  Client client = make({{1.0}});
  const Request r = client.pop(s(1.5));
  CHECK(r.arrival == s(1.0));
  CHECK(r.held == SimTime());
}

TEST_CASE("a request may not be sent before it is due", "[unit][client]") {
  Client client = make({{1.0}});
  CHECK_THROWS_AS(client.pop(s(0.9)), InternalError);
}

TEST_CASE("a closed loop holds requests; their clock starts when they are sent", "[unit][client]") {
  Client client = make({{0}, {1}, {2}, {9}}, 2);
  client.pop(s(0));
  client.pop(s(1));
  CHECK(client.next_send() == SimTime::never());  // both places taken
  CHECK_FALSE(client.drained());
  client.on_finish(0, -1, s(5));
  REQUIRE(client.next_send() == s(5));
  const Request held = client.pop(s(5));
  CHECK(held.id == 2);
  CHECK(held.arrival == s(5));
  CHECK(held.held == s(3));
  client.on_finish(1, -1, s(6));
  REQUIRE(client.next_send() == s(9));  // a place is free before request 3 is due
  const Request timely = client.pop(s(9));
  CHECK(timely.arrival == s(9));
  CHECK(timely.held == SimTime());
  CHECK(client.drained());
}

TEST_CASE("two places that come free send two held requests, each with its own hold",
          "[unit][client]") {
  Client client = make({{0}, {0}, {0}, {0}}, 2);
  client.pop(s(0));
  client.pop(s(0));
  client.on_finish(0, -1, s(1));
  const Request third = client.pop(s(1));
  CHECK(third.held == s(1));
  client.on_finish(1, -1, s(4));
  const Request fourth = client.pop(s(4));
  CHECK(fourth.held == s(4));
  CHECK(fourth.arrival == s(4));
}

TEST_CASE("a closed loop never has more than its limit in flight", "[unit][client]") {
  std::vector<Plan> plans(1000);
  Client client = make(plans, 7);
  std::set<std::uint64_t> live;
  std::uint64_t expected = 0;
  for (double now = 0; !client.drained(); now += 1) {
    while (client.next_send() <= s(now)) {
      const Request r = client.pop(s(now));
      CHECK(r.id == expected++);
      live.insert(r.id);
    }
    REQUIRE(client.in_flight() == static_cast<std::int64_t>(live.size()));
    REQUIRE(live.size() <= 7);
    client.on_finish(*live.begin(), -1, s(now));
    live.erase(live.begin());
  }
  CHECK(client.sent() == 1000);
}

TEST_CASE("a turn is sent think_time after the answer before it", "[unit][client]") {
  // The log says turn 1 came at 1 s; here the first answer took until 10 s.
  Client client = make({{0, 7}, {1, 7, 2.5}, {1, -1}});
  CHECK(client.pop(s(0)).turn == 0);
  CHECK(client.pop(s(1)).id == 2);  // another request is not kept back
  CHECK(client.next_send() == SimTime::never());
  CHECK_FALSE(client.drained());
  client.on_finish(0, 7, s(10));
  REQUIRE(client.next_send() == s(12.5));
  const Request turn = client.pop(s(12.5));
  CHECK(turn.id == 1);
  CHECK(turn.turn == 1);
  CHECK(turn.arrival == s(12.5));
  CHECK(turn.held == SimTime());
  CHECK(client.drained());
}

TEST_CASE("a turn is not sent before its own arrival", "[unit][client]") {
  Client client = make({{0, 7}, {20, 7, 1}});
  client.pop(s(0));
  client.on_finish(0, 7, s(3));
  REQUIRE(client.next_send() == s(20));
}

TEST_CASE("a turn read after the finish before it keeps its think time", "[unit][client]") {
  // Request 1 stands in front, so that turn 1 is read only after turn 0 has finished.
  int reads = 0;
  Client client = make({{0, 7}, {4}, {5, 7, 30}, {6}}, 0, &reads);
  client.pop(s(0));
  CHECK(reads == 2);
  client.on_finish(0, 7, s(1));
  CHECK(client.pop(s(4)).id == 1);
  REQUIRE(client.next_send() == s(6));  // turn 1 waits until 31
  CHECK(client.pop(s(6)).id == 3);
  REQUIRE(client.next_send() == s(31));
  CHECK(client.pop(s(31)).id == 2);
}

TEST_CASE("turns of one session never overlap and keep their order", "[unit][client]") {
  std::vector<Plan> plans;
  for (int i = 0; i < 12; ++i) plans.push_back({0.0, i % 3, 0.5});
  Client client = make(plans);
  std::vector<std::pair<SimTime, Request>> live;
  std::vector<std::int32_t> next_turn(3, 0);
  while (!client.drained() || !live.empty()) {
    if (client.next_send() < SimTime::never()) {
      const Request r = client.pop(client.next_send());
      for (const auto& other : live) CHECK(other.second.session_id != r.session_id);
      CHECK(r.turn == next_turn[static_cast<std::size_t>(r.session_id)]++);
      live.emplace_back(r.arrival + s(2), r);
      continue;
    }
    const auto [time, r] = live.front();
    live.erase(live.begin());
    client.on_finish(r.id, r.session_id, time);
  }
  CHECK(next_turn == std::vector<std::int32_t>{4, 4, 4});
}

TEST_CASE("a held turn counts from the instant its think time ended", "[unit][client]") {
  Client client = make({{0, 7}, {0, 7, 1}, {0.5}}, 1);
  client.pop(s(0));
  client.on_finish(0, 7, s(2));
  CHECK(client.pop(s(2)).id == 2);  // due since 0.5; the turn is due at 3
  CHECK(client.next_send() == SimTime::never());
  client.on_finish(2, -1, s(8));
  const Request turn = client.pop(s(8));
  CHECK(turn.id == 1);
  CHECK(turn.held == s(5));
}

TEST_CASE("reading ahead stops at one request", "[unit][client]") {
  int reads = 0;
  Client client = make(std::vector<Plan>(1000), 3, &reads);
  CHECK(reads == 1);
  client.pop(s(0));
  client.pop(s(0));
  CHECK(reads == 3);
}

}  // namespace
}  // namespace headway
