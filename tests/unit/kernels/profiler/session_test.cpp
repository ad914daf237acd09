// Budgets, passes, sentinels and clocks, on a device whose time the test sets.

#include "kernels/profiler/session.h"

#include <set>

#include "tests/support/catch.h"
#include "tests/unit/kernels/profiler/fake_backend.h"

namespace headway::kernels {
namespace {

using test::fake_entry;
using test::FakeBackend;

struct Bench {
  FakeBackend fake;
  KernelEntry entry = fake_entry("silu_mul", {{"dtype", "bf16"}});
  SessionOptions options;

  // Points of 10, 20, ... us.
  std::vector<Point> points(int count) const {
    std::vector<Point> list;
    for (int i = 1; i <= count; ++i) list.push_back({&entry, {{64, 20 * i - 10}, {}}, false});
    return list;
  }
  Session session(int count) { return {fake, points(count), {}, options}; }
};

TEST_CASE("enough time: every point is visited, to its interval, and visited again", "[unit]") {
  Bench bench;
  bench.fake.sigma = 0.01;
  Session session = bench.session(40);
  session.run(1000);
  CHECK(session.complete());
  CHECK(session.visited() == 40);
  CHECK(session.passes() > 1);
  CHECK(session.elapsed_s() < 1000);  // it stops when there is nothing to gain
  for (std::size_t i = 0; i < 40; ++i) {
    const Measured& m = session.measured()[i];
    CHECK(m.visits() > 1);
    CHECK(m.estimate().us == Approx(10 * static_cast<double>(i + 1)).epsilon(0.02));
    CHECK(m.estimate().low_us <= m.estimate().us);
    CHECK(m.estimate().high_us >= m.estimate().us);
  }
}

TEST_CASE("little time: every point once with few samples, and never late", "[unit]") {
  Bench bench;
  bench.fake.sigma = 0.3;
  Session session = bench.session(200);  // 13 ms a hurried visit, 3.4 s at the full rule
  const double begin = bench.fake.now_s();
  session.run(4);
  CHECK(session.complete());
  CHECK(bench.fake.now_s() - begin <= 4 + bench.fake.prepare_s + 0.001);
}

TEST_CASE("too little time: what was reached is kept, and it is incomplete", "[unit]") {
  Bench bench;
  Session session = bench.session(200);
  const double begin = bench.fake.now_s();
  session.run(1);
  CHECK_FALSE(session.complete());
  CHECK(session.visited() > 50);
  CHECK(session.visited() < 100);
  CHECK(bench.fake.now_s() - begin <= 1 + bench.fake.prepare_s + 0.001);
  session.run(1000);  // and more time completes it
  CHECK(session.complete());
}

TEST_CASE("an interrupt keeps what there is", "[unit]") {
  Bench bench;
  std::atomic<bool> stop{false};
  bench.options.stop = &stop;
  bench.fake.on_sample = [&](double) { stop = bench.fake.samples >= 100; };
  Session session = bench.session(50);
  session.run(1000);
  CHECK_FALSE(session.complete());
  CHECK(session.visited() >= 13);  // 7 samples a point
  CHECK(session.visited() <= 15);
  CHECK(bench.fake.samples == 100);
}

TEST_CASE("what time is left goes to the widest intervals", "[unit]") {
  Bench bench;
  bench.options.rule.cap_s = 0.02;
  bench.options.max_visits = 2;
  bench.fake.sigma = 0.2;
  bench.fake.noisy_from_us = 155;  // the last five
  Session session = bench.session(20);
  session.run(0.65);  // the quiet ones take 0.26 s a pass
  REQUIRE(session.complete());
  int quiet = 0, noisy = 0;
  for (std::size_t i = 0; i < 20; ++i) (i < 15 ? quiet : noisy) += session.measured()[i].visits();
  CHECK(noisy == 10);  // each a second time before any quiet one
  CHECK(quiet < 30);
}

TEST_CASE("what differs between visits widens the interval", "[unit]") {
  Bench bench;
  // No noise within a visit; each visit finds another time.
  int visit = 0;
  bench.fake.true_us = [&](const KernelEntry&, const Case&) { return 100.0 + 5 * (visit++ % 2); };
  Session session = bench.session(1);
  session.run(100);
  REQUIRE(session.measured()[0].visits() > 1);
  const Estimate e = session.measured()[0].estimate();
  CHECK(e.low_us == 100);
  CHECK(e.high_us == 105);
}

TEST_CASE("each pass has an order of its own, and a seed gives it again", "[unit]") {
  const auto order = [](std::uint64_t seed) {
    Bench bench;
    bench.options.seed = seed;
    std::vector<std::int64_t> keys;
    bench.options.progress = [&](std::size_t, std::size_t, int, const Point& point) {
      keys.push_back(point.call.key.back());
    };
    Session session = bench.session(30);
    session.run(1000);
    return keys;
  };
  const auto first = order(1);
  REQUIRE(first.size() >= 60);
  const std::vector<std::int64_t> pass1(first.begin(), first.begin() + 30);
  const std::vector<std::int64_t> pass2(first.begin() + 30, first.begin() + 60);
  CHECK(std::set<std::int64_t>(pass1.begin(), pass1.end()).size() == 30);
  CHECK(pass1 != pass2);
  CHECK(order(1) == first);
  CHECK(order(2) != first);
}

TEST_CASE("the sentinel is timed every few seconds and gives the session's spread", "[unit]") {
  Bench bench;
  bench.fake.sigma = 0.02;
  bench.fake.sample_s = 0.05;
  Session session(bench.fake, bench.points(60), {&bench.entry, {{64, 390}, {}}, false},
                  bench.options);
  session.run(60);
  CHECK(session.sentinels().size() >= 8);
  CHECK(session.sentinels().size() <= 14);
  for (const SentinelRow& row : session.sentinels()) {
    CHECK(row.us == Approx(200).epsilon(0.1));
    CHECK(row.copy_us == 100);
    CHECK(row.clock_mhz == 1500);
  }
  // Each row is the median of three samples: their spread is 0.67 of one's.
  CHECK(session.run_sigma() > 0.003);
  CHECK(session.run_sigma() < 0.04);
}

TEST_CASE("a clock that drops is seen: the point is tried once more, then flagged", "[unit]") {
  Bench bench;
  double slow_from = 0, slow_until = 0;
  bench.fake.clock_mhz = [&](double now) {
    return now >= slow_from && now < slow_until ? 900.0 : 1500.0;
  };
  bench.options.max_visits = 1;
  Session steady(bench.fake, bench.points(20), {&bench.entry, {{64, 390}, {}}, false},
                 bench.options);
  steady.run(100);
  for (const Measured& m : steady.measured()) {
    CHECK_FALSE(m.throttled);
    CHECK(m.clock_mhz == 1500);
  }

  // A dip of five samples: the second try is clean. A long one stays.
  for (const auto& [length_s, flagged] : {std::pair{0.005, false}, {1.0, true}}) {
    slow_from = bench.fake.now_s() + 0.05;  // past the sentinel
    slow_until = slow_from + length_s;
    Session session(bench.fake, bench.points(5), {&bench.entry, {{64, 390}, {}}, false},
                    bench.options);
    session.run(100);
    bool any = false;
    for (const Measured& m : session.measured()) any = any || m.throttled;
    CHECK(any == flagged);
  }
}

TEST_CASE("a point that does not fit is left out, not missing", "[unit]") {
  Bench bench;
  bench.entry.work = [](const Case& call) {
    return Work{1, 1, call.key.back() > 100 ? 1e12 : 0, 0};
  };
  Session session = bench.session(10);  // tokens 10, 30, ... 190: the last five are too large
  session.run(100);
  CHECK(session.complete());
  CHECK(session.fitting() == 5);
  CHECK(session.visited() == 5);
}

TEST_CASE("clean samples replace those of a contended visit", "[unit]") {
  Bench bench;
  double contended_until = 0;
  bench.fake.busy = [&](double now) { return now < contended_until ? 0.5 : 1.0; };
  bench.options.rule.cap_s = 0.02;
  contended_until = bench.fake.now_s() + 0.3;
  Session session = bench.session(10);
  session.run(100);
  for (const Measured& m : session.measured()) {
    CHECK_FALSE(m.contended);
    CHECK(m.visits() > 0);
  }
}

}  // namespace
}  // namespace headway::kernels
