#include "kernels/validate/comparison.h"

#include "kernels/validate/host_fit.h"
#include "kernels/validate/regimes.h"
#include "sim/workload/request_source.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/engine/toy_scenario.h"

namespace headway::kernels {
namespace {

TEST_CASE("a prediction is compared with the mean of the runs and their spread",
          "[unit][kernels]") {
  const Comparison c = compare({9, 10, 11}, 12.5);
  CHECK(c.measured == Approx(10));
  CHECK(c.error == Approx(0.25));
  CHECK(c.noise == Approx(0.1));    // deviation 1 with n - 1
  CHECK(c.allowed == Approx(0.3));  // three times that, above 10 %
  CHECK(c.within());
  CHECK_FALSE(compare({9, 10, 11}, 13.1).within());
  CHECK_FALSE(compare({9, 10, 11}, 6.9).within());
}

TEST_CASE("the allowance is never below ten per cent, and one run shows no noise",
          "[unit][kernels]") {
  CHECK(compare({100, 100.1}, 109).within());
  CHECK_FALSE(compare({100, 100.1}, 111).within());
  const Comparison single = compare({50}, 54);
  CHECK(single.noise == 0);
  CHECK(single.allowed == Approx(0.10));
  CHECK(single.within());
}

std::vector<StepTiming> steps_of(double per_step, double per_sequence) {
  std::vector<StepTiming> steps;
  for (std::int32_t n = 1; n <= 8; ++n) {
    for (int i = 0; i < 10 + n; ++i) {
      StepTiming s;
      s.sequences = n;
      s.host_us =
          per_step + per_sequence * n + (i % 3 - 1) * 0.4;  // symmetric: the median is exact
      if (i == 0) s.host_us += 500;                         // one hiccup a size
      steps.push_back(s);
    }
  }
  return steps;
}

TEST_CASE("host terms come back out of the steps that they went into", "[unit][kernels]") {
  const HostTerms terms = fit_host_terms(steps_of(12, 1.5), 900, 300);
  CHECK(terms.per_step_us == Approx(12).margin(0.3));
  CHECK(terms.per_sequence_us == Approx(1.5).margin(0.1));
  CHECK(terms.per_request_us == Approx(3));
}

TEST_CASE("host terms: disturbed steps are left out, no term is negative", "[unit][kernels]") {
  std::vector<StepTiming> steps = steps_of(10, 0);
  for (int i = 0; i < 200; ++i) {
    StepTiming s;
    s.sequences = 4;
    s.host_us = 4000;
    s.busy = 0.5;
    steps.push_back(s);
  }
  HostTerms terms = fit_host_terms(steps, 0, 0);
  CHECK(terms.per_step_us == Approx(10).margin(0.3));
  CHECK(terms.per_sequence_us >= 0);
  terms = fit_host_terms(steps_of(0.1, 3), 0, 0);
  CHECK(terms.per_step_us >= 0);
  CHECK(terms.per_sequence_us == Approx(3).margin(0.1));
  terms = fit_host_terms({}, 0, 0);
  CHECK(terms.per_step_us == 0);
  CHECK(terms.per_request_us == 0);
  // One batch size only: all of it is a step's.
  std::vector<StepTiming> one(5);
  for (StepTiming& s : one) {
    s.sequences = 3;
    s.host_us = 9;
  }
  CHECK(fit_host_terms(one, 0, 0).per_step_us == Approx(9));
}

struct Arrivals {
  std::int64_t count = 0;
  double span_s = 0;
};
Arrivals arrivals_of(const Scenario& s) {
  std::vector<std::string> notes;
  const auto source = open_workload(s.workload, s.folder(), s.seed, notes);
  Arrivals a;
  SimTime first;
  while (const auto r = source->next()) {
    if (a.count++ == 0) first = r->arrival;
    a.span_s = (r->arrival - first).seconds();
  }
  return a;
}

TEST_CASE("regimes: a generator is asked for the rate, a trace is replayed at it",
          "[unit][kernels]") {
  const Scenario generated =
      tiny_scenario(R"("num_gpu_blocks_override": 64)",
                    R"("num_prompts": 7, "request_rate": 3, "input_len": 4, "output_len": 2)");
  Arrivals a = arrivals_of(at_rate(generated, 50, 8, 10));
  CHECK(a.count == 400);
  CHECK(a.span_s == Approx(8).epsilon(0.15));
  CHECK(arrivals_of(at_rate(generated, 0.5, 4, 10)).count == 10);  // at least so many
  a = arrivals_of(all_at_once(generated, 30));
  CHECK(a.count == 30);
  CHECK(a.span_s == 0);

  Scenario traced = generated;
  traced.workload = {};
  traced.workload.trace = "azure-2023-conv";
  traced.workload.rate_scale = 9;  // ignored: the rate is asked for
  a = arrivals_of(at_rate(traced, 20, 10, 10));
  CHECK(a.count == 200);
  CHECK(static_cast<double>(a.count - 1) / a.span_s == Approx(20).epsilon(0.001));
  CHECK(arrivals_of(all_at_once(traced, 40)).count == 40);
}

}  // namespace
}  // namespace headway::kernels
