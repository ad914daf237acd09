#include "sim/metrics/latency_meter.h"

#include "tests/support/catch.h"

using namespace headway;

namespace {
SimTime at(int ns) { return SimTime::from_ns(ns); }
std::int64_t part(const LatencyMeter& meter, LatencyPart p) {
  return meter.split()[static_cast<std::size_t>(p)].ns();
}
}  // namespace

TEST_CASE("INV-3: a request's life splits into parts that sum to its latency", "[unit][replica]") {
  LatencyMeter meter;
  meter.enter(at(100), at(120));                              // 20 host
  meter.scheduled(at(200), {at(0), at(0), at(5)});            // 80 queue
  // 60 of the next 100 are its own chunk, 10 host, so 30 are someone else's.
  meter.prefilled(at(300), {at(40), at(50), at(15)}, at(60), 64, false);
  meter.token(at(300), {at(40), at(50), at(15)}, true);
  meter.token(at(350), {at(80), at(52), at(23)}, true);       // nothing closes while it decodes
  meter.finish(at(400), {at(100), at(70), at(35)});           // 60 decode, 20 interference, 20 host
  CHECK(part(meter, LatencyPart::kQueue) == 80);
  CHECK(part(meter, LatencyPart::kPrefill) == 60);
  CHECK(part(meter, LatencyPart::kInterference) == 30 + 20);
  CHECK(part(meter, LatencyPart::kDecode) == 60);
  CHECK(part(meter, LatencyPart::kHost) == 20 + 10 + 20);
  CHECK(part(meter, LatencyPart::kPreemption) == 0);
  std::int64_t sum = 0;
  for (SimTime p : meter.split()) sum += p.ns();
  CHECK(sum == 300);
}

TEST_CASE("time at the gateway is queueing, the rest before the engine is the host's",
          "[unit][replica]") {
  LatencyMeter meter;
  meter.enter(at(100), at(190), at(70));
  meter.scheduled(at(200), {});
  meter.finish(at(200), {});
  CHECK(part(meter, LatencyPart::kQueue) == 70 + 10);
  CHECK(part(meter, LatencyPart::kHost) == 20);
}

TEST_CASE("preemption loss lasts until the next token of the resumed sequence", "[unit][replica]") {
  LatencyMeter meter;
  meter.enter(at(0), at(0));
  meter.scheduled(at(0), {});
  meter.prefilled(at(10), {at(10), at(0), at(0)}, at(10), 8, false);
  meter.token(at(10), {at(10), at(0), at(0)}, true);
  meter.preempted(at(20), {at(20), at(0), at(0)}, 9);
  meter.token(at(25), {at(25), at(0), at(0)}, false);   // was in flight; the loss goes on
  meter.scheduled(at(30), {at(30), at(0), at(0)});      // back in the batch, still making up
  meter.token(at(45), {at(45), at(0), at(0)}, true);
  meter.finish(at(50), {at(50), at(0), at(0)});
  CHECK(part(meter, LatencyPart::kPreemption) == 25);
  CHECK(part(meter, LatencyPart::kDecode) == 10 + 5);
  CHECK(part(meter, LatencyPart::kPrefill) == 10);
}

TEST_CASE("a prompt preempted before its first token pays only for what it had", "[unit][replica]") {
  LatencyMeter meter;
  meter.enter(at(0), at(0));
  meter.scheduled(at(0), {});
  meter.prefilled(at(10), {at(10), at(0), at(0)}, at(10), 8, false);
  meter.preempted(at(10), {at(10), at(0), at(0)}, 8);
  meter.scheduled(at(40), {at(40), at(0), at(0)});
  meter.prefilled(at(50), {at(50), at(0), at(0)}, at(10), 8, false);   // back where it had been
  meter.prefilled(at(60), {at(60), at(0), at(0)}, at(10), 12, false);
  meter.token(at(60), {at(60), at(0), at(0)}, true);
  meter.finish(at(60), {at(60), at(0), at(0)});
  CHECK(part(meter, LatencyPart::kPreemption) == 40);
  CHECK(part(meter, LatencyPart::kPrefill) == 20);
}
