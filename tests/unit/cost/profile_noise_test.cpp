#include "sim/cost/profile_noise.h"

#include <cmath>

#include "tests/support/catch.h"

using namespace headway;

namespace {

Profile small_profile() {
  ProfileTable table;
  table.op = "gemm";
  table.axes = {"n", "k", "m"};
  table.keys = {64, 64, 1, 64, 64, 2};
  table.time_us = {10, 20};
  table.low_us = {9, 20};
  table.high_us = {12, 20};  // of the second row no noise is known
  Profile profile;
  profile.name = "test";
  profile.host.per_step_us = 100;
  profile.tables = {table};
  return profile;
}

}  // namespace

TEST_CASE("a drawn profile stays within the noise bands of its rows", "[unit][cost]") {
  const Profile measured = small_profile();
  CHECK(has_noise(measured));
  double least = 100, most = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Profile drawn = perturbed(measured, seed);
    const double time = drawn.tables[0].time_us[0];
    least = std::min(least, time);
    most = std::max(most, time);
    CHECK(drawn.tables[0].time_us[1] == 20);
    CHECK(drawn.host.per_step_us == 100);
  }
  CHECK(least >= 9);
  CHECK(least < 9.2);
  CHECK(most <= 12);
  CHECK(most > 11.8);
  CHECK(perturbed(measured, 3).tables[0].time_us == perturbed(measured, 3).tables[0].time_us);
}

TEST_CASE("run_sigma moves all rows of a draw together, and none of them on the whole",
          "[unit][cost]") {
  Profile measured = small_profile();
  measured.run_sigma = 0.05;
  double sum = 0, squares = 0;
  constexpr int kDraws = 2000;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    const Profile drawn = perturbed(measured, seed);
    const double factor = drawn.tables[0].time_us[1] / 20;
    CHECK(drawn.host.per_step_us == Approx(100 * factor));
    CHECK(drawn.tables[0].time_us[0] >= 9 * factor * (1 - 1e-12));
    sum += factor;
    squares += factor * factor;
  }
  const double mean = sum / kDraws;
  CHECK(mean == Approx(1).margin(0.004));  // three and a half standard errors
  CHECK(std::sqrt(squares / kDraws - mean * mean) == Approx(0.05).epsilon(0.08));
}

TEST_CASE("a profile without noise is not changed", "[unit][cost]") {
  Profile exact = small_profile();
  exact.tables[0].low_us.clear();
  exact.tables[0].high_us.clear();
  CHECK_FALSE(has_noise(exact));
  CHECK(perturbed(exact, 5).tables[0].time_us == exact.tables[0].time_us);
}
