#include "sim/metrics/slo_counter.h"

#include "tests/support/catch.h"
#include "tests/support/records.h"

namespace headway {
namespace {

TEST_CASE("a value equal to its limit meets it", "[unit]") {
  // TTFT 200 ms, E2EL 1 s, TPOT 800/8 = 100 ms.
  const RequestRecord r = finished(0, 1.0, 1.1, 1.2, 2.0, 10, 9);
  CHECK(judge_slo({200.0, 100.0, 1000.0}, r).all());
  CHECK_FALSE(judge_slo({199.999999, {}, {}}, r).all());
  CHECK_FALSE(judge_slo({{}, 99.999999, {}}, r).all());
  CHECK_FALSE(judge_slo({{}, {}, 999.999999}, r).all());
  CHECK(judge_slo({}, r).all());
}

TEST_CASE("a single token has no TPOT and meets any TPOT limit", "[unit]") {
  const RequestRecord r = finished(0, 0, 0, 5, 5, 10, 1);
  CHECK_FALSE(tpot_ms_of(r).has_value());
  CHECK(judge_slo({{}, 0.001, {}}, r).all());
  CHECK(judge_slo({{}, 0.0, {}}, r).all());
  CHECK_FALSE(judge_slo({4000.0, 0.001, {}}, r).all());  // it still has a TTFT
}

TEST_CASE("attainment counts failed requests in the denominator only", "[unit]") {
  SloCounter counter({500.0, {}, {}});
  counter.on_finish(finished(0, 0, 0, 0.4, 1, 1, 2));
  counter.on_finish(finished(1, 0, 0, 0.6, 1, 1, 2));
  counter.on_finish(rejected(2, 0, 0, "too long"));
  counter.on_finish(finished(3, 0, 0, 0.5, 1, 1, 2));
  CHECK(counter.good() == 2);
  CHECK(counter.attainment().value() == 0.5);
  CHECK(counter.ttft_attainment().value() == 0.5);
  CHECK_FALSE(counter.tpot_attainment().has_value());
  CHECK_FALSE(SloCounter({}).attainment().has_value());
}

}  // namespace
}  // namespace headway
