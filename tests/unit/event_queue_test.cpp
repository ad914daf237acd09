#include "sim/core/event_queue.h"

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
