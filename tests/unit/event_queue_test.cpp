#include "sim/core/event_queue.h"

#include <cstdint>

#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("events come out by time, then phase, then insertion", "[unit][core]") {
  EventQueue<int> queue;
  queue.push(SimTime::from_ns(5), Phase::kArrival, 1);
  queue.push(SimTime::from_ns(5), Phase::kStepEnd, 2);
  queue.push(SimTime::from_ns(5), Phase::kArrival, 3);
  queue.push(SimTime::from_ns(4), Phase::kStop, 4);
  std::vector<int> order;
  while (!queue.empty()) order.push_back(queue.pop().body);
  REQUIRE(order == std::vector<int>{4, 2, 1, 3});
}

TEST_CASE("an event in the past is our mistake", "[unit][core]") {
  EventQueue<int> queue;
  queue.push(SimTime::from_ns(5), Phase::kStop, 1);
  queue.pop();
  REQUIRE_THROWS_AS(queue.push(SimTime::from_ns(4), Phase::kStop, 2), InternalError);
}

TEST_CASE("an event beside the queue has its place among those in it", "[unit][core]") {
  const SimTime soon = SimTime::from_ns(5), later = SimTime::from_ns(6);
  EventQueue<int> queue;
  const std::uint64_t first = queue.take_sequence();
  CHECK(queue.comes_first(later, Phase::kStop, first));  // nothing is in it
  queue.push(soon, Phase::kArrival, 1);
  const std::uint64_t second = queue.take_sequence();
  CHECK(queue.comes_first(soon, Phase::kArrival, first));
  CHECK_FALSE(queue.comes_first(soon, Phase::kArrival, second));
  CHECK(queue.comes_first(soon, Phase::kStepEnd, second));
  CHECK_FALSE(queue.comes_first(soon, Phase::kWake, first));
  CHECK_FALSE(queue.comes_first(later, Phase::kStepEnd, first));
  queue.pop();
  queue.push(soon, Phase::kArrival, 2, 1);  // of a higher rank
  CHECK(queue.comes_first(soon, Phase::kArrival, second + 7));
}
