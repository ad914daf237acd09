// One worked example a rule. What all routers promise is in tests/contract/router_contract_test.cpp.
#include <set>

#include "sim/core/errors.h"
#include "sim/routing/router.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

std::unique_ptr<Router> router(const std::string& name, const RouterOptions& options = {},
                               std::uint64_t seed = 0) {
  return find_router(name).make({seed, options});
}

std::vector<ReplicaLoad> outstanding(std::initializer_list<std::int64_t> counts) {
  std::vector<ReplicaLoad> loads;
  for (const std::int64_t n : counts) {
    loads.push_back({.replica = static_cast<std::uint32_t>(loads.size()), .outstanding = n});
  }
  return loads;
}

Request prompt(std::uint64_t id, std::vector<std::uint64_t> blocks) {
  Request r;
  r.id = id;
  r.content_granularity = 10;
  r.prompt_tokens = static_cast<std::int32_t>(10 * blocks.size());
  r.output_tokens = 1;
  r.content_ids = std::move(blocks);
  return r;
}

Request turn(std::uint64_t id, std::int64_t session) {
  Request r = prompt(id, {1});
  r.session_id = session;
  return r;
}

Request urgent(std::uint64_t id, std::int32_t priority) {
  Request r = prompt(id, {1});
  r.priority = priority;
  return r;
}

SimTime at(double s) { return SimTime::from_seconds(s); }

}  // namespace

TEST_CASE("least-tokens counts prompt tokens, then requests, then the first", "[unit][routing]") {
  auto r = router("least-tokens");
  std::vector<ReplicaLoad> loads = outstanding({1, 9, 3, 2});
  loads[0].prompt_tokens = 8000;
  loads[1].prompt_tokens = 700;
  loads[2].prompt_tokens = 600;
  loads[3].prompt_tokens = 600;
  CHECK(r->choose(prompt(0, {1}), loads, at(0)) == 3);
  loads[3].outstanding = 3;
  CHECK(r->choose(prompt(1, {1}), loads, at(0)) == 2);
}

TEST_CASE("least-kv looks at the share held, then at the requests", "[unit][routing]") {
  auto r = router("least-kv");
  std::vector<ReplicaLoad> loads = outstanding({1, 50, 4, 3});
  loads[0].kv_share = 0.9;
  loads[1].kv_share = 0.1;
  loads[2].kv_share = 0.2;
  loads[3].kv_share = 0.2;
  CHECK(r->choose(prompt(0, {1}), loads, at(0)) == 1);
  loads[1].kv_share = 0.3;
  CHECK(r->choose(prompt(1, {1}), loads, at(0)) == 3);
  CHECK(find_router("least-kv").reads_kv);
}

TEST_CASE("power-of-two: two different ones, the less loaded, never the most loaded of all",
          "[unit][routing]") {
  auto r = router("power-of-two");
  const auto loads = outstanding({5, 1, 9, 3});
  std::vector<int> counts(4);
  for (std::uint64_t i = 0; i < 6000; ++i) ++counts[r->choose(prompt(i, {1}), loads, at(0))];
  // Of the six pairs, the least loaded wins the three it is in, the next two, the next one.
  CHECK(counts[1] == Approx(3000).margin(150));
  CHECK(counts[3] == Approx(2000).margin(150));
  CHECK(counts[0] == Approx(1000).margin(120));
  CHECK(counts[2] == 0);
  // Equal loads: the first drawn, so that each is as likely.
  counts.assign(2, 0);
  for (std::uint64_t i = 0; i < 2000; ++i)
    ++counts[r->choose(prompt(i, {1}), outstanding({4, 4}), at(0))];
  CHECK(counts[0] == Approx(1000).margin(120));
}

TEST_CASE("cache-aware: 40 against 3 is imbalance, 34 against 3 is not", "[unit][routing]") {
  const RouterOptions options{{"balance_abs_threshold", 32}, {"balance_rel_threshold", 1.1},
                              {"cache_threshold", 0.5}};
  auto r = router("cache-aware", options);
  const auto choose = [&](std::uint64_t id, std::vector<std::uint64_t> blocks,
                          std::initializer_list<std::int64_t> counts) {
    return r->choose(prompt(id, std::move(blocks)), outstanding(counts), at(1));
  };
  CHECK(choose(0, {1, 2, 3, 4}, {0, 5}) == 0);     // nothing matches: the least loaded
  CHECK(choose(1, {1, 2, 3, 5}, {34, 3}) == 0);    // 31 <= 32, 3 of 4 blocks match
  CHECK(choose(2, {1, 2, 3, 6}, {40, 3}) == 1);    // 37 > 32 and 40 > 3.3, whatever matches ...
  CHECK(choose(3, {1, 2, 3, 6, 7}, {5, 5}) == 1);  // ... and the tree has learnt of it
  CHECK(choose(4, {1, 2, 8, 9}, {34, 3}) == 1);    // 2 of 4 are not more than half
  CHECK(choose(5, {1, 2, 8, 9}, {3, 34}) == 1);    // but now they are all there
  // Both conditions, not one of them: 400 against 365 is 35 more and not 1.1 times as many.
  CHECK(choose(6, {1, 2, 3, 4}, {400, 365}) == 0);
}

TEST_CASE("cache-aware: the tree is cut back every interval, to tokens a replica", "[unit][routing]") {
  const RouterOptions options{{"max_tree_tokens", 40}, {"eviction_interval_s", 100}};
  auto r = router("cache-aware", options);
  const auto loads = outstanding({7, 0});
  CHECK(r->choose(prompt(0, {1, 2, 3, 4}), loads, at(10)) == 1);
  CHECK(r->choose(prompt(1, {5, 6, 7, 8}), loads, at(20)) == 1);
  const auto busy = outstanding({0, 7});
  CHECK(r->choose(prompt(2, {1, 2, 3, 4}), busy, at(99)) == 1);  // 80 tokens, not yet cut back
  CHECK(r->choose(prompt(3, {5, 6, 7, 8}), busy, at(100)) == 0); // it was the older one
  auto never = router("cache-aware", {{"max_tree_tokens", 0}, {"eviction_interval_s", 0}});
  CHECK(never->choose(prompt(0, {1}), loads, at(1)) == 1);
  CHECK(never->choose(prompt(1, {1}), busy, at(1e6)) == 1);
}

TEST_CASE("cache-aware: a replica that is gone is forgotten, one that is full is not",
          "[unit][routing]") {
  auto r = router("cache-aware");
  auto loads = outstanding({9, 0, 5});
  CHECK(r->choose(prompt(0, {1, 2}), loads, at(0)) == 1);
  const std::vector<ReplicaLoad> without{loads[0], loads[2]};
  CHECK(r->choose(prompt(1, {1, 2}), without, at(1)) == 1);  // replica 2, which has it now as well
  loads[1].outstanding = 20;
  CHECK(r->choose(prompt(2, {1, 2}), loads, at(2)) == 1);
  r->on_gone(1);
  CHECK(r->choose(prompt(3, {1, 2}), loads, at(3)) == 2);
}

TEST_CASE("session-sticky: a session stays, and moves for good when its replica is gone",
          "[unit][routing]") {
  auto r = router("session-sticky");
  auto loads = outstanding({3, 1, 2});
  CHECK(r->choose(turn(0, 7), loads, at(0)) == 1);
  loads[1].outstanding = 50;
  CHECK(r->choose(turn(1, 7), loads, at(1)) == 1);
  CHECK(r->choose(turn(2, 8), loads, at(1)) == 2);
  CHECK(r->choose(turn(3, -1), loads, at(1)) == 2);  // of no session
  const std::vector<ReplicaLoad> without{loads[0], loads[2]};
  CHECK(r->choose(turn(4, 7), without, at(2)) == 1);  // replica 2
  loads[1].outstanding = 0;
  CHECK(r->choose(turn(5, 7), loads, at(3)) == 2);
}

TEST_CASE("priority: fewest at least as urgent, then fewest", "[unit][routing]") {
  auto r = router("priority");
  // Replica 0 gets the urgent one, replica 1 two that can wait.
  CHECK(r->choose(urgent(0, 0), outstanding({0, 0}), at(0)) == 0);
  CHECK(r->choose(urgent(1, 5), outstanding({1, 0}), at(0)) == 1);
  CHECK(r->choose(urgent(2, 5), outstanding({1, 1}), at(0)) == 0);
  CHECK(r->choose(urgent(3, 5), outstanding({2, 1}), at(0)) == 1);
  // 0: {0, 5}; 1: {5, 5}. An urgent one goes where nothing urgent is, a lax one counts all.
  CHECK(r->choose(urgent(4, 1), outstanding({2, 2}), at(0)) == 1);
  CHECK(r->choose(urgent(5, 9), outstanding({2, 3}), at(0)) == 0);
  r->on_leave(0, 0);
  // Nothing as urgent as -1 is anywhere: the fewest requests decide.
  CHECK(r->choose(urgent(6, -1), outstanding({2, 3}), at(0)) == 0);
  CHECK_THROWS_AS(r->on_leave(0, 0), InternalError);
  CHECK_THROWS_AS(r->on_leave(6, 1), InternalError);
  CHECK(find_router("priority").hears_leaving);
}

TEST_CASE("a router of no such name, or one nearly so", "[unit][routing]") {
  CHECK_THROWS_WITH(find_router("cache-awre"), ContainsSubstring("cluster.router") &&
                                                   ContainsSubstring("did you mean cache-aware?"));
}
