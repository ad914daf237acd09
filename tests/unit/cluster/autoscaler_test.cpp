// The autoscaler's rule, on worked examples.
#include "sim/cluster/autoscaler.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

AutoscalerOptions scaler_options(double target, double down_s = 0, double up_s = 0) {
  AutoscalerOptions o;
  o.min_replicas = 1;
  o.max_replicas = 10;
  o.target = target;
  o.scale_down_cooldown_s = down_s;
  o.scale_up_cooldown_s = up_s;
  return o;
}

SimTime second(double s) { return SimTime::from_seconds(s); }

}  // namespace

TEST_CASE("advice is the ceiling of replicas x metric / target", "[unit][cluster][fleet]") {
  // kubernetes.io: 200m against 100m doubles, 50m halves.
  const Autoscaler scaler(scaler_options(100), 3);
  CHECK(scaler.advise({3, 0, 200.0}) == 6);
  CHECK(scaler.advise({4, 0, 50.0}) == 2);
  CHECK(scaler.advise({3, 0, 50.0}) == 2);   // 1.5
  CHECK(scaler.advise({3, 0, 134.0}) == 5);  // 4.02
  CHECK(scaler.advise({3, 0, 0.0}) == 0);    // the limits are decide()'s
}

TEST_CASE("a ratio within the tolerance is no advice to move", "[unit][cluster][fleet]") {
  const Autoscaler scaler(scaler_options(10), 4);
  CHECK(scaler.advise({4, 0, 10.9}) == 4);
  CHECK(scaler.advise({4, 0, 9.1}) == 4);
  CHECK(scaler.advise({4, 0, 11.1}) == 5);  // 4.44
  CHECK(scaler.advise({4, 0, 8.9}) == 4);   // 3.56
  CHECK(scaler.advise({4, 0, 7.5}) == 3);
}

TEST_CASE("replicas on their way count as idle where it would scale up", "[unit][cluster][fleet]") {
  const Autoscaler scaler(scaler_options(10), 2);
  // Two are at 20, two start: with all four the mean is 10.
  CHECK(scaler.advise({2, 2, 20.0}) == 4);
  // Two at 20 and six starting would be at 5: wait, do not scale down.
  CHECK(scaler.advise({2, 6, 20.0}) == 8);
  // Two at 40, two start: 20 for four, so eight.
  CHECK(scaler.advise({2, 2, 40.0}) == 8);
  // Scaling down goes by those that are ready: HPA does not wait for the others.
  CHECK(scaler.advise({4, 1, 5.0}) == 2);
}

TEST_CASE("with nothing to go by the number stays", "[unit][cluster][fleet]") {
  const Autoscaler scaler(scaler_options(10), 2);
  CHECK(scaler.advise({3, 1, std::nullopt}) == 4);
  CHECK(scaler.advise({0, 2, 50.0}) == 2);
}

TEST_CASE("scaling down follows the highest advice of the cool-down", "[unit][cluster][fleet]") {
  Autoscaler scaler(scaler_options(10, 60), 5);
  CHECK(scaler.decide(second(15), {5, 0, 4.0}) == 5);   // advice 2; the start advised 5
  CHECK(scaler.decide(second(30), {5, 0, 6.0}) == 5);   // 3
  CHECK(scaler.decide(second(60), {5, 0, 4.0}) == 3);   // the start has passed; 30 s advised 3
  CHECK(scaler.decide(second(75), {3, 0, 6.7}) == 3);   // 2.01 -> 3
  CHECK(scaler.decide(second(91), {3, 0, 4.0}) == 3);   // 2, but 75 s advised 3
  CHECK(scaler.decide(second(135), {3, 0, 6.0}) == 2);  // 1.8 -> 2; 91 s advised 2
}

TEST_CASE("scaling up follows the lowest advice of its cool-down", "[unit][cluster][fleet]") {
  Autoscaler at_once(scaler_options(10), 2);
  CHECK(at_once.decide(second(15), {2, 0, 20.0}) == 4);
  Autoscaler slow(scaler_options(10, 0, 60), 2);
  CHECK(slow.decide(second(15), {2, 0, 40.0}) == 2);  // 8; the start advised 2
  CHECK(slow.decide(second(30), {2, 0, 20.0}) == 2);
  CHECK(slow.decide(second(61), {2, 0, 30.0}) == 4);  // the lowest of 8, 4, 6
}

TEST_CASE("limits hold, and a fleet outside them is brought in at once", "[unit][cluster][fleet]") {
  AutoscalerOptions o = scaler_options(10, 300);
  o.min_replicas = 2;
  o.max_replicas = 6;
  CHECK(Autoscaler(o, 4).decide(second(15), {4, 0, 100.0}) == 6);
  CHECK(Autoscaler(o, 1).decide(second(15), {1, 0, 1.0}) == 2);
  CHECK(Autoscaler(o, 9).decide(second(15), {9, 0, 100.0}) == 6);
  o.scale_down_cooldown_s = 0;
  CHECK(Autoscaler(o, 4).decide(second(15), {4, 0, 0.0}) == 2);
}
