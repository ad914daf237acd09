// States of replicas over time, by hand.
#include "sim/cluster/lifecycle.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

using State = ReplicaState;

SimTime instant(double s) { return SimTime::from_seconds(s); }

LifecyclePool kind_of(std::int32_t replicas, std::int32_t most, double startup_s) {
  return {replicas, most, instant(startup_s), most > replicas};
}

// Everything up to `until`, as "time: replica from>to".
std::vector<std::string> story(Lifecycle& life, double until) {
  const char* const names[] = {"off", "starting", "ready", "draining", "failed"};
  std::vector<std::string> told;
  while (life.next() <= instant(until)) {
    const SimTime now = life.next();
    std::vector<ReplicaChange> changes;
    life.advance(now, changes);
    for (const ReplicaChange& c : changes) {
      told.push_back(std::to_string(now.ns() / 1'000'000'000) + ": " + std::to_string(c.replica) + " " +
                     names[static_cast<int>(c.from)] + ">" + names[static_cast<int>(c.to)] +
                     (c.lost ? " lost" : ""));
    }
  }
  return told;
}

}  // namespace

TEST_CASE("a failure, its down time and a start", "[unit][cluster][fleet]") {
  LifecycleOptions o;
  o.failures = {{1, 10, 5}};
  Lifecycle life({kind_of(2, 2, 7)}, o, 0);
  CHECK(life.state(1) == State::kReady);
  CHECK(story(life, 100) == std::vector<std::string>{"10: 1 ready>failed lost", "15: 1 failed>starting",
                                                     "22: 1 starting>ready"});
  CHECK(life.next() == SimTime::never());
  CHECK(life.failures() == 1);
  CHECK(life.provisioned_s(0, instant(100)) == 200);  // paid for while it is down
}

TEST_CASE("a failure while it is down or off changes nothing, while it starts it begins anew",
          "[unit][cluster][fleet]") {
  LifecycleOptions o;
  o.failures = {{0, 10, 10}, {0, 12, 100}, {0, 25, 1}, {1, 3, 1}};
  Lifecycle life({kind_of(1, 2, 10)}, o, 0);
  CHECK(story(life, 100) ==
        std::vector<std::string>{"10: 0 ready>failed lost", "20: 0 failed>starting",
                                 "25: 0 starting>failed lost", "26: 0 failed>starting",
                                 "36: 0 starting>ready"});
}

TEST_CASE("a replica that fails for good is paid for no more and never comes back",
          "[unit][cluster][fleet]") {
  LifecycleOptions o;
  o.failures = {{0, 10, std::numeric_limits<double>::infinity()}};
  Lifecycle fixed({kind_of(1, 1, 0)}, o, 0);
  CHECK(fixed.may_serve());
  CHECK(story(fixed, 100) == std::vector<std::string>{"10: 0 ready>off lost"});
  CHECK_FALSE(fixed.may_serve());
  CHECK(fixed.provisioned_s(0, instant(100)) == 10);
  Lifecycle scaled({kind_of(1, 2, 0)}, o, 0);
  story(scaled, 100);
  CHECK(scaled.may_serve());  // another one may be started
  std::vector<ReplicaChange> changes;
  scaled.scale(0, 2, instant(20), changes);  // there is one left
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].replica == 1);
}

TEST_CASE("GPU time of a scripted rise and fall", "[unit][cluster][fleet]") {
  Lifecycle life({kind_of(1, 3, 30)}, {}, 0);
  std::vector<ReplicaChange> changes;
  life.scale(0, 3, instant(10), changes);  // 1 and 2 start
  CHECK(life.count(0, instant(10)).starting == 2);
  CHECK(story(life, 40) == std::vector<std::string>{"40: 1 starting>ready", "40: 2 starting>ready"});
  changes.clear();
  life.scale(0, 2, instant(50), changes);  // the last one drains
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].replica == 2);
  CHECK(changes[0].to == State::kDraining);
  life.scale(0, 1, instant(52), changes);
  life.emptied(2, instant(55), changes);
  life.emptied(1, instant(60), changes);
  // 0: 100 s, 1: 10..60, 2: 10..55.
  CHECK(life.provisioned_s(0, instant(100)) == 100 + 50 + 45);
  CHECK(life.count(0, instant(100)).ready == 1);
}

TEST_CASE("one that drains is taken back before another starts; too many go unready ones first",
          "[unit][cluster][fleet]") {
  Lifecycle life({kind_of(2, 4, 30)}, {}, 0);
  std::vector<ReplicaChange> changes;
  life.scale(0, 1, instant(1), changes);
  life.scale(0, 3, instant(2), changes);
  CHECK(life.state(1) == State::kReady);
  CHECK(life.state(2) == State::kStarting);
  CHECK(life.state(3) == State::kOff);
  changes.clear();
  life.scale(0, 2, instant(3), changes);
  CHECK(life.state(2) == State::kOff);
  CHECK(life.state(1) == State::kReady);
  CHECK(story(life, 100).empty());  // its start was called off
  CHECK(life.provisioned_s(0, instant(100)) == 200 + 1);
}

TEST_CASE("a draining replica that fails is gone at once", "[unit][cluster][fleet]") {
  LifecycleOptions o;
  o.failures = {{1, 10, 5}};
  Lifecycle life({kind_of(2, 3, 0)}, o, 0);
  std::vector<ReplicaChange> changes;
  life.scale(0, 1, instant(1), changes);
  CHECK(story(life, 100) == std::vector<std::string>{"10: 1 draining>off lost"});
  CHECK(life.provisioned_s(0, instant(100)) == 110);
}

TEST_CASE("random failures: the same of a seed, of the means asked for", "[unit][cluster][fleet]") {
  LifecycleOptions o;
  o.failures_random = RandomFailureOptions{1000, 50};
  const auto tell = [&](std::uint64_t seed) {
    Lifecycle life({kind_of(20, 20, 10)}, o, seed);
    return story(life, 1e6);
  };
  const std::vector<std::string> told = tell(1);
  CHECK(told == tell(1));
  CHECK(told != tell(2));
  // A cycle is 1000 + 50 + 10 s, of three changes, of 20 replicas; its standard deviation is 5 %/sqrt.
  const double cycles = static_cast<double>(told.size()) / 3;
  CHECK(cycles == Approx(20 * 1e6 / 1060).epsilon(0.03));
}
