#include "sim/study/demo.h"

#include "sim/core/errors.h"
#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("every demo answers its question the same way twice", "[unit][study]") {
  for (const DemoEntry& demo : demo_table()) {
    INFO(std::string(demo.name));
    const std::string answer = demo.run();
    CHECK(answer.size() > 200);
    CHECK(answer == demo.run());
  }
  CHECK_THROWS_WITH(find_demo("speculatoin"), ContainsSubstring("did you mean speculation"));
}

TEST_CASE("the speculation demo's acceptance is the overlap, and a large batch gains less", "[unit][study]") {
  const std::string text = run_speculation_demo();
  // Rows: noise, overlap, accepted, tokens/step, then the speed-ups at B = 1, 4, 16, 64, 256.
  double noise, overlap, accepted, length, at[5];
  const auto row = text.find("       0.3 ");
  REQUIRE(row != std::string::npos);
  REQUIRE(std::sscanf(text.c_str() + row, "%lf %lf %lf %lf %lfx %lfx %lfx %lfx %lfx", &noise, &overlap, &accepted,
                      &length, &at[0], &at[1], &at[2], &at[3], &at[4]) == 9);
  CHECK(accepted == Approx(overlap).margin(0.04));  // 2000 draws: 4 sigma
  const double a = overlap;
  CHECK(length == Approx((1 - a * a * a * a) / (1 - a)).epsilon(0.03));
  CHECK(at[0] > 1.2);
  CHECK(at[4] < at[0]);
}
