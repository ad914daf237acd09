// The stopping rule on a kernel of known noise.

#include "kernels/profiler/measure.h"

#include "kernels/profiler/statistics.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/profiler/fake_backend.h"

namespace headway::kernels {
namespace {

using test::fake_entry;
using test::FakeBackend;

Visit measured(FakeBackend& fake, const StoppingRule& rule, double for_s = 1e9,
               const std::atomic<bool>* stop = nullptr) {
  const KernelEntry entry = fake_entry("silu_mul", {{"dtype", "bf16"}});
  const auto timer = fake.prepare(single(entry, {{64, 190}, {}}), 1);  // 100 us
  return measure(*timer, [&] { return fake.now_s(); }, rule, {fake.now_s() + for_s, stop});
}

TEST_CASE("a call without noise takes the minimum of samples", "[unit]") {
  FakeBackend fake;
  const Visit visit = measured(fake, {});
  CHECK(visit.us.size() == 7);
  CHECK(median(visit.us) == 100);
  CHECK_FALSE(visit.contended);
}

TEST_CASE("noise takes as many samples as its interval needs", "[unit]") {
  FakeBackend fake;
  fake.sigma = 0.02;
  StoppingRule rule;
  rule.max_samples = 100000;
  rule.cap_s = 1e9;
  const Visit visit = measured(fake, rule);
  // The median's interval is about 2 x 1.25 sigma / sqrt(n) either way: 1 % of it at n = 25.
  CHECK(visit.us.size() > 8);
  CHECK(visit.us.size() < 80);
  const Interval interval = median_interval(visit.us);
  const double middle = median(visit.us);
  CHECK(interval.high <= 1.01 * middle);
  CHECK(interval.low >= 0.99 * middle);
  CHECK(middle == Approx(100).epsilon(0.02));

  fake.sigma = 0.08;  // four times the noise: about sixteen times the samples
  const Visit wilder = measured(fake, rule);
  CHECK(wilder.us.size() > 4 * visit.us.size());
  CHECK(median(wilder.us) == Approx(100).epsilon(0.02));
}

TEST_CASE("a point's cap ends it, but not below the minimum", "[unit]") {
  FakeBackend fake;
  fake.sigma = 0.5;
  StoppingRule rule;
  rule.cap_s = 0.0205;  // 21 samples of 1 ms
  CHECK(measured(fake, rule).us.size() == 21);
  rule.cap_s = 0;
  CHECK(measured(fake, rule).us.size() == 7);
  rule.cap_s = 1e9;
  rule.max_samples = 50;
  CHECK(measured(fake, rule).us.size() == 50);
}

TEST_CASE("no sample begins that would end after the deadline", "[unit]") {
  FakeBackend fake;
  fake.sigma = 0.5;
  const double begin = fake.now_s();
  const Visit visit = measured(fake, {}, 0.0045);
  CHECK(visit.us.size() == 4);  // a fifth would end at 5 ms
  CHECK(fake.now_s() - begin <= 0.0045 + fake.prepare_s + 1e-9);
  CHECK(measured(fake, {}, -1).us.empty());
}

TEST_CASE("an interrupt ends it between two samples", "[unit]") {
  FakeBackend fake;
  std::atomic<bool> stop{false};
  fake.on_sample = [&](double) { stop = fake.samples >= 3; };
  CHECK(measured(fake, {}, 1e9, &stop).us.size() == 3);
  CHECK(measured(fake, {}, 1e9, &stop).us.empty());
}

TEST_CASE("samples beside which something else ran are not taken, but counted", "[unit]") {
  FakeBackend fake;
  fake.busy = [&](double) { return fake.samples % 3 == 0 ? 0.99 : 0.6; };
  const Visit visit = measured(fake, {});
  CHECK(visit.us.size() == 7);
  CHECK(visit.rejected >= 12);
  CHECK(visit.rejected <= 15);
  CHECK_FALSE(visit.contended);
  CHECK(median(visit.us) == Approx(100 / 0.99));
}

TEST_CASE("with nothing but disturbed samples the CPU time stands, and it is said", "[unit]") {
  FakeBackend fake;
  fake.busy = [](double) { return 0.5; };
  StoppingRule rule;
  rule.cap_s = 0.0095;
  const Visit visit = measured(fake, rule);
  CHECK(visit.contended);
  CHECK(visit.rejected == 10);
  CHECK(median(visit.us) == Approx(100));  // not the 200 of the wall clock
}

}  // namespace
}  // namespace headway::kernels
