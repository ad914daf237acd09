#include "sim/report/cdf_svg.h"

#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("a CDF picture holds its curves, its limit and its numbers in words", "[unit][report]") {
  const CdfCurve slow{"sta<tic", {{100, 0.0}, {1000, 0.5}, {10'000, 0.99}, {100'000, 1.0}}};
  const CdfCurve fast{"vllm-v1", {{10, 0.0}, {100, 0.5}, {200, 0.99}, {1000, 1.0}}};
  const std::string svg =
      cdf_svg({{"Time to first token", 2000, {slow, fast}}, {"TPOT", 0, {slow, fast}}}, "a & b");
  CHECK_THAT(svg, ContainsSubstring("<title>a &amp; b</title>"));
  CHECK_THAT(svg, ContainsSubstring("sta&lt;tic median 1 s, p99 10 s"));
  CHECK_THAT(svg, ContainsSubstring("vllm-v1 median 100 ms, p99 200 ms"));
  CHECK_THAT(svg, ContainsSubstring("SLO 2 s"));
  // The axis of both panels runs from 10 ms to 100 s, 420 wide: 1 s is in the middle.
  CHECK_THAT(svg, ContainsSubstring("L210.0 150.0"));
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("a picture of nothing is still a picture", "[unit][report]") {
  CHECK_THAT(cdf_svg({{"TTFT", 0, {{"none", {}}}}}, "empty"), ContainsSubstring("</svg>"));
}
