#include "sim/cluster/gateway.h"

#include "tests/support/catch.h"

using namespace headway;

namespace {

SimTime at(double s) { return SimTime::from_seconds(s); }

Request request(std::uint64_t id, double arrival_s, std::int32_t priority = 0) {
  Request r;
  r.id = id;
  r.arrival = at(arrival_s);
  r.priority = priority;
  return r;
}

std::vector<ReplicaLoad> loads(std::initializer_list<std::int64_t> outstanding) {
  std::vector<ReplicaLoad> all;
  for (const std::int64_t n : outstanding) {
    all.push_back({.replica = static_cast<std::uint32_t>(all.size()), .outstanding = n});
  }
  return all;
}

Gateway::Answer offer(Gateway& gateway, Request r, const std::vector<ReplicaLoad>& all) {
  const SimTime now = r.arrival;
  return gateway.offer(r, all, now);
}

using Answer = Gateway::Answer;

}  // namespace

TEST_CASE("without limits everyone is in at once, and waits only while no replica is ready",
          "[unit][cluster]") {
  Gateway gateway({});
  for (std::uint64_t id = 0; id < 1000; ++id) {
    CHECK(offer(gateway, request(id, 1), loads({900})) == Answer::kIn);
  }
  CHECK(gateway.outstanding() == 1000);
  CHECK(gateway.waiting() == 0);
  CHECK(offer(gateway, request(1000, 2), {}) == Answer::kWaits);
  CHECK_FALSE(gateway.may_admit({}));
  REQUIRE(gateway.may_admit(loads({0})));
  const Request r = gateway.admit(at(5));
  CHECK(r.id == 1000);
  CHECK(r.queued == at(3));
  CHECK(gateway.next_expiry() == SimTime::never());
}

TEST_CASE("at the fleet's limit requests wait by priority, then by arrival, and none is passed",
          "[unit][cluster]") {
  Gateway gateway({.max_outstanding = 2});
  const auto all = loads({1, 1});
  CHECK(offer(gateway, request(0, 0), all) == Answer::kIn);
  CHECK(offer(gateway, request(1, 0), all) == Answer::kIn);
  CHECK(offer(gateway, request(2, 1, 5), all) == Answer::kWaits);
  CHECK(offer(gateway, request(3, 2, 0), all) == Answer::kWaits);
  CHECK(offer(gateway, request(4, 3, 0), all) == Answer::kWaits);
  CHECK_FALSE(gateway.may_admit(all));
  gateway.leave();
  // A place is free, but who comes now stands behind those that wait.
  CHECK(offer(gateway, request(5, 4, 0), all) == Answer::kWaits);
  std::vector<std::uint64_t> order;
  for (int i = 0; i < 4; ++i) {
    REQUIRE(gateway.may_admit(all));
    order.push_back(gateway.admit(at(10)).id);
    CHECK_FALSE(gateway.may_admit(all));
    gateway.leave();
  }
  CHECK(order == std::vector<std::uint64_t>{3, 4, 5, 2});
  CHECK(gateway.peak_waiting() == 4);
  CHECK(gateway.outstanding() == 1);
}

TEST_CASE("a limit on each replica: those with a place are offered to the router", "[unit][cluster]") {
  Gateway gateway({.max_outstanding_per_replica = 4});
  const auto some = loads({4, 3, 4, 0});
  const auto open = gateway.open(some);
  REQUIRE(open.size() == 2);
  CHECK(open[0].replica == 1);
  CHECK(open[1].replica == 3);
  CHECK(offer(gateway, request(0, 0), some) == Answer::kIn);
  CHECK(offer(gateway, request(1, 0), loads({4, 4})) == Answer::kWaits);
  CHECK_FALSE(gateway.may_admit(loads({4, 4})));
  CHECK(gateway.may_admit(loads({4, 3})));
}

TEST_CASE("a full queue turns requests away; so does too low a priority while there is no place",
          "[unit][cluster]") {
  Gateway gateway({.max_outstanding = 1, .max_queue = 1, .shed_priority_above = 3});
  const auto all = loads({1});
  CHECK(offer(gateway, request(0, 0, 9), all) == Answer::kIn);  // nobody is shed while there is a place
  CHECK(offer(gateway, request(1, 0, 4), all) == Answer::kShed);
  CHECK(offer(gateway, request(2, 0, 3), all) == Answer::kWaits);
  Request full = request(3, 0, -1);
  full.content_ids = {7};
  CHECK(gateway.offer(full, all, at(0)) == Answer::kQueueFull);
  CHECK(full.content_ids.size() == 1);  // as it was
  CHECK(std::string(reason_of(Answer::kQueueFull)) == "queue full");
  CHECK_THROWS(reason_of(Answer::kIn));
  Gateway none({.max_outstanding = 1, .max_queue = 0});
  CHECK(offer(none, request(0, 0), all) == Answer::kIn);
  CHECK(offer(none, request(1, 0), all) == Answer::kQueueFull);
}

TEST_CASE("who has waited for max_wait gives up, wherever it stands in the queue", "[unit][cluster]") {
  Gateway gateway({.max_outstanding = 1, .max_wait_s = 10});
  const auto all = loads({1});
  offer(gateway, request(0, 0), all);
  offer(gateway, request(1, 1, 9), all);
  offer(gateway, request(2, 2, 0), all);
  offer(gateway, request(3, 3, 5), all);
  CHECK(gateway.next_expiry() == at(11));
  CHECK(gateway.take_expired(at(10.5)).empty());
  const auto expired = gateway.take_expired(at(12));  // at its instant, too
  REQUIRE(expired.size() == 2);
  CHECK(expired[0].id == 1);
  CHECK(expired[1].id == 2);
  CHECK(gateway.waiting() == 1);
  gateway.leave();
  CHECK(gateway.admit(at(12.5)).id == 3);
  CHECK(gateway.next_expiry() == SimTime::never());
}

TEST_CASE("a request whose replica is gone stands where it would have, and does not give up",
          "[unit][cluster]") {
  Gateway gateway({.max_outstanding = 1, .max_queue = 1, .max_wait_s = 10});
  const auto all = loads({1});
  offer(gateway, request(0, 0), all);
  offer(gateway, request(1, 1), all);
  gateway.put_back(request(0, 0));  // the queue is full, which does not matter
  CHECK(gateway.waiting() == 2);
  CHECK(gateway.outstanding() == 0);
  CHECK(gateway.take_expired(at(100)).size() == 1);
  const Request r = gateway.admit(at(100));
  CHECK(r.id == 0);
  CHECK(r.queued == at(100));
}
