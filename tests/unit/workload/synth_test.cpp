#include "sim/workload/synth.h"

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "sim/workload/trace_writer.h"
#include "tests/support/catch.h"
#include "tests/unit/workload/trace_support.h"

namespace headway {
namespace {

constexpr double kDayS = 86'400;

WorkloadOptions week_of(std::int64_t requests, double days = 7) {
  WorkloadOptions options;
  options.synth = "azure-week";
  options.num_prompts = requests;
  options.days = days;
  return options;
}

TEST_CASE("a rate curve: rate, integral and inverse of a triangle worked by hand",
          "[unit][synth]") {
  // 1 at 0, 3 at 10 s, back to 1 at 20 s: 20 s x (1+3)/2 = 40 a period.
  const RateCurve curve({1, 3}, 10);
  CHECK(curve.period_s() == 20);
  CHECK(curve.rate(5) == 2);
  CHECK(curve.rate(25) == 2);
  CHECK(curve.volume(10) == 20);
  CHECK(curve.volume(5) == 7.5);  // 5 + 0.2 x 25 / 2
  CHECK(curve.volume(50) == 100);
  CHECK(curve.time_of(7.5) == Approx(5));
  CHECK(curve.time_of(40) == Approx(20));
  for (double t = 0; t < 70; t += 0.37) CHECK(curve.time_of(curve.volume(t)) == Approx(t));
}

TEST_CASE("the week swings by day and rests at the weekend, coding most", "[unit][synth]") {
  const auto hour = [](const RateCurve& curve, int day, int h) {
    return curve.rate(day * kDayS + h * 3600.0);
  };
  const RateCurve& total = azure_week_total();
  const RateCurve& coding = azure_week_coding();
  CHECK(total.period_s() == 7 * kDayS);
  CHECK(hour(coding, 0, 15) / hour(coding, 0, 3) == Approx(10));           // Friday: 1 / 0.10
  CHECK(hour(coding, 1, 15) / hour(coding, 0, 15) == Approx(0.33));        // Saturday
  CHECK(hour(coding, 3, 15) == Approx(hour(coding, 0, 15)));               // Monday
  CHECK(hour(coding, 0, 15) / hour(coding, 2, 3) == Approx(1 / 0.033));    // about 30
  CHECK(coding.volume(7 * kDayS) / total.volume(7 * kDayS) == Approx(0.38));
  CHECK(total.rate(3 * kDayS) == Approx(total.rate(10 * kDayS)));          // weekly
}

TEST_CASE("synthetic arrivals: as many as asked, in order, with the shape of the rate",
          "[unit][synth]") {
  const std::int64_t n = 200'000;
  const test::Trace trace = test::read_all(week_of(n));
  REQUIRE(trace.requests.size() == static_cast<std::size_t>(n));
  std::array<double, 7 * 24> by_hour{};
  double coding = 0;
  SimTime last;
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const Request& r = trace.requests[i];
    REQUIRE(r.id == i);
    REQUIRE(r.arrival >= last);
    REQUIRE(r.arrival.ns() % 1000 == 0);
    last = r.arrival;
    by_hour[static_cast<std::size_t>(r.arrival.seconds() / 3600)] += 1;
    coding += r.tenant;
  }
  // Each hour's count is binomial: within 5 standard deviations of what the curve says.
  const RateCurve& total = azure_week_total();
  for (std::size_t h = 0; h < by_hour.size(); ++h) {
    const double from = 3600.0 * static_cast<double>(h);
    const double share = (total.volume(from + 3600) - total.volume(from)) / total.volume(7 * kDayS);
    const double expected = share * static_cast<double>(n);
    INFO("hour " << h);
    CHECK(std::abs(by_hour[h] - expected) < 5 * std::sqrt(expected));
  }
  CHECK(coding / static_cast<double>(n) == Approx(0.38).margin(5 * std::sqrt(0.38 * 0.62 / n)));
}

TEST_CASE("gaps are those of a Poisson process where the rate hardly changes", "[unit][synth]") {
  const test::Trace trace = test::read_all(week_of(100'000, 0.01));
  double sum = 0, squares = 0;
  for (std::size_t i = 1; i < trace.requests.size(); ++i) {
    const double gap = (trace.requests[i].arrival - trace.requests[i - 1].arrival).seconds();
    sum += gap;
    squares += gap * gap;
  }
  const double n = static_cast<double>(trace.requests.size() - 1);
  const double mean = sum / n;
  CHECK(mean == Approx(864.0 / 100'000).epsilon(0.001));
  CHECK(std::sqrt(squares / n - mean * mean) / mean == Approx(1.0).epsilon(0.03));
}

TEST_CASE("lengths are whole rows of the two 2023 traces, of the request's service",
          "[unit][synth]") {
  std::set<std::pair<std::int32_t, std::int32_t>> rows[2];
  double mean_prompt[2] = {};
  const char* traces[] = {"azure-2023-conv", "azure-2023-code"};
  for (std::size_t t = 0; t < 2; ++t) {
    WorkloadOptions options;
    options.trace = traces[t];
    const test::Trace log = test::read_all(options);
    for (const Request& r : log.requests) {
      rows[t].emplace(r.prompt_tokens, r.output_tokens);
      mean_prompt[t] += r.prompt_tokens / static_cast<double>(log.requests.size());
    }
  }
  double sum[2] = {}, count[2] = {};
  for (const Request& r : test::read_all(week_of(50'000)).requests) {
    const auto t = static_cast<std::size_t>(r.tenant);
    REQUIRE(t < 2);
    REQUIRE(rows[t].count({r.prompt_tokens, r.output_tokens}) == 1);
    sum[t] += r.prompt_tokens;
    count[t] += 1;
  }
  for (std::size_t t = 0; t < 2; ++t) CHECK(sum[t] / count[t] == Approx(mean_prompt[t]).epsilon(0.05));
}

TEST_CASE("a seed gives one week; the first N of it are the limit; a scale divides its times",
          "[unit][synth]") {
  const auto all = test::read_all(week_of(3000), "", 7).requests;
  WorkloadOptions first = week_of(3000);
  first.limit = 100;
  first.rate_scale = 4;
  const auto part = test::read_all(first, "", 7).requests;
  REQUIRE(part.size() == 100);
  for (std::size_t i = 0; i < part.size(); ++i) {
    CHECK(part[i].prompt_tokens == all[i].prompt_tokens);
    CHECK(part[i].output_tokens == all[i].output_tokens);
    CHECK(std::abs(part[i].arrival.ns() * 4 - all[i].arrival.ns()) <= 4000);
  }
  const auto other = test::read_all(week_of(3000), "", 8).requests;
  CHECK(other[0].arrival != all[0].arrival);
  CHECK(other.size() == all.size());
}

TEST_CASE("INV-9: the written week reads back as the same requests", "[unit][synth]") {
  const test::TempFolder folder;
  const auto source = test::read_all(week_of(5000, 2), "", 3).requests;
  CHECK(write_synth(week_of(5000, 2), 3, folder / "week.csv.gz", "") == 5000);
  WorkloadOptions options;
  options.trace = folder / "week.csv.gz";
  const test::Trace back = test::read_all(options);
  CHECK(back.notes.empty());
  REQUIRE(back.requests.size() == source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    CHECK(back.requests[i].arrival == source[i].arrival - source[0].arrival);
    CHECK(back.requests[i].prompt_tokens == source[i].prompt_tokens);
    CHECK(back.requests[i].output_tokens == source[i].output_tokens);
    CHECK(back.requests[i].tenant == source[i].tenant);
  }
}

TEST_CASE("options of a synthetic trace without meaning are named", "[unit][synth]") {
  const auto place = [](const WorkloadOptions& options) {
    try {
      test::read_all(options);
    } catch (const InputError& error) {
      return error.parts().place;
    }
    return std::string("no error");
  };
  CHECK(place(week_of(0)) == "workload.num_prompts");
  CHECK(place(week_of(1, 0)) == "workload.days");
  WorkloadOptions options = week_of(1);
  options.rate_scale = 0;
  CHECK(place(options) == "workload.rate_scale");
  options = week_of(1);
  options.synth = "azure-weak";
  CHECK(place(options) == "workload.synth");
  CHECK(default_synth_requests(7) == 44'000'000);
  CHECK(default_synth_requests(3.5) == 22'000'000);
}

}  // namespace
}  // namespace headway
