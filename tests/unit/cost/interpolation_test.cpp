#include "sim/cost/interpolation.h"

#include <cmath>

#include "tests/support/catch.h"

using namespace headway;

namespace {

// time = 4 + ((0.01 flops)^3 + (0.02 bytes)^3)^(1/3), flops = x y, bytes = y.
double truth(double x, double y) {
  const double c = 0.01 * x * y, m = 0.02 * y;
  return 4 + std::cbrt(c * c * c + m * m * m);
}
Demand demand(const double* key) { return {{key[0] * key[1], key[1]}, 0}; }

ProfileTable table(std::vector<std::string> axes) {
  ProfileTable t;
  t.op = "made-up";
  t.axes = std::move(axes);
  return t;
}

void add(ProfileTable& t, std::vector<std::int64_t> key, double us, std::uint8_t flag = 0) {
  t.keys.insert(t.keys.end(), key.begin(), key.end());
  t.time_us.push_back(us);
  t.flags.push_back(flag);
}

ProfileTable grid_of_truth() {
  ProfileTable t = table({"x", "y"});
  for (std::int64_t x : {1, 2, 4, 8, 16}) {
    for (std::int64_t y : {64, 256, 1024, 4096}) {
      add(t, {x, y}, truth(static_cast<double>(x), static_cast<double>(y)));
    }
  }
  return t;
}

}  // namespace

TEST_CASE("measured points come back exactly", "[unit][cost]") {
  ProfileTable t = grid_of_truth();
  t.time_us[5] *= 1.37;  // noise is kept
  const OperatorTable op(t, 0, SitePolicy::kNearest, demand);
  const SitePricer pricer = op.site({});
  for (std::size_t row = 0; row < t.rows(); ++row) {
    const Priced got = pricer.at(static_cast<double>(t.key(row, 0)),
                                 static_cast<double>(t.key(row, 1)));
    CHECK(got.us == t.time_us[row]);
    CHECK(got.from == Coverage::kMeasured);
  }
}

TEST_CASE("between and beyond the points the model carries the growth", "[unit][cost]") {
  const ProfileTable t = grid_of_truth();
  const SitePricer pricer = OperatorTable(t, 0, SitePolicy::kNearest, demand).site({});
  const std::pair<double, double> places[] = {{3, 700}, {1.5, 64}, {9, 3000}};
  for (const auto& [x, y] : places) {
    const Priced got = pricer.at(x, y);
    CHECK(got.us == Approx(truth(x, y)).epsilon(0.01));
    CHECK(got.from == Coverage::kInterpolated);
  }
  const Priced above = pricer.at(16, 65536);  // 4 octaves: a bare clamp would be 16 times too low
  CHECK(above.us == Approx(truth(16, 65536)).epsilon(0.02));
  CHECK(above.from == Coverage::kExtrapolated);
  CHECK(pricer.at(64, 4096).from == Coverage::kExtrapolated);
  const Priced below = pricer.at(1, 1);
  CHECK(below.from == Coverage::kExtrapolated);
  CHECK(below.us >= pricer.floor_us());
  CHECK(below.us == Approx(4).epsilon(0.05));
}

TEST_CASE("the held ratio is the nearest point's", "[unit][cost]") {
  ProfileTable t = table({"x", "y"});
  for (std::int64_t y : {64, 256, 1024, 4096}) {
    const double y_real = static_cast<double>(y);
    add(t, {1, y}, truth(1, y_real) * (y == 4096 ? 1.2 : 1.0));
  }
  const SitePricer pricer = OperatorTable(t, 0, SitePolicy::kNearest, demand).site({});
  CHECK(pricer.at(1, 32768).us / pricer.at(1, 16384).us == Approx(2).epsilon(0.15));
  CHECK(pricer.at(1, 32768).us > 1.1 * truth(1, 32768));
}

TEST_CASE("an outlier is returned when asked for and never interpolated through", "[unit][cost]") {
  ProfileTable t = grid_of_truth();
  const std::size_t bad = 9;  // (4, 256)
  REQUIRE((t.key(bad, 0) == 4 && t.key(bad, 1) == 256));
  t.time_us[bad] *= 5;
  t.flags[bad] = 1;
  const SitePricer pricer = OperatorTable(t, 0, SitePolicy::kNearest, demand).site({});
  CHECK(pricer.at(4, 256).us == t.time_us[bad]);
  CHECK(pricer.at(4, 257).us == Approx(truth(4, 257)).epsilon(0.03));
  CHECK(pricer.at(3, 256).us == Approx(truth(3, 256)).epsilon(0.03));
}

TEST_CASE("a ragged corner takes the surviving bracket's ratio", "[unit][cost]") {
  ProfileTable t = table({"x", "y"});
  for (std::int64_t y : {64, 256, 1024, 4096}) {
    add(t, {4, y}, (y == 4096 ? 1.3 : 1.0) * truth(4, static_cast<double>(y)));
  }
  for (std::int64_t y : {64, 256}) add(t, {8, y}, truth(8, static_cast<double>(y)));
  const SitePricer pricer = OperatorTable(t, 0, SitePolicy::kNearest, demand).site({});
  CHECK(pricer.at(5, 4096).us == Approx(1.3 * truth(5, 4096)).epsilon(0.05));
  CHECK(pricer.at(5, 4096).from == Coverage::kInterpolated);
  CHECK(pricer.at(7, 4096).from == Coverage::kExtrapolated);  // nearer to the row that ends early
}

TEST_CASE("an axis may start at zero", "[unit][cost]") {
  ProfileTable t = table({"x", "y"});
  for (std::int64_t x : {1, 2}) {
    for (std::int64_t y : {0, 16, 64}) add(t, {x, y}, 4 + 0.01 * static_cast<double>(x * y));
  }
  const SitePricer pricer = OperatorTable(t, 0, SitePolicy::kNearest, demand).site({});
  CHECK(pricer.at(1, 0).us == 4);
  CHECK(pricer.at(1, 8).us == Approx(4.08).epsilon(0.01));
}

TEST_CASE("an unmeasured site borrows ratios within two octaves", "[unit][cost]") {
  const auto by_site = [](const double* key) {
    return Demand{{key[0] * key[1] * key[2], key[0] * key[1]}, 0};
  };
  ProfileTable t = table({"n", "k", "m"});
  for (std::int64_t n : {64, 128, 256}) {
    for (std::int64_t k : {64, 128, 256}) {
      for (std::int64_t m : {1, 16, 256}) {
        const double nk = static_cast<double>(n * k), m_real = static_cast<double>(m);
        const double c = 1e-4 * nk * m_real, b = 1e-3 * nk;
        add(t, {n, k, m}, 5 + std::cbrt(c * c * c + b * b * b));
      }
    }
  }
  const OperatorTable op(t, 2, SitePolicy::kInverseDistance, by_site);
  const SitePricer inside = op.site({180, 100});
  const double c = 1e-4 * 180 * 100 * 16, b = 1e-3 * 180 * 100;
  CHECK(inside.at(16).us == Approx(5 + std::cbrt(c * c * c + b * b * b)).epsilon(0.03));
  CHECK(inside.at(16).from == Coverage::kInterpolated);
  CHECK(op.site({512, 128}).at(16).from == Coverage::kExtrapolated);
  CHECK(op.site({1 << 20, 128}).at(16).from == Coverage::kExtrapolated);  // the model alone
  CHECK(op.site({64, 64}).at(16).from == Coverage::kMeasured);
}

TEST_CASE("leaving a point out does not see it", "[unit][cost]") {
  ProfileTable t = grid_of_truth();
  const OperatorTable before(t, 0, SitePolicy::kNearest, demand);
  const std::size_t row = 5;  // (2, 256), inside
  CHECK(before.without_row(row, false).us == Approx(truth(2, 256)).epsilon(0.03));
  CHECK(before.without_row(row, false).from == Coverage::kInterpolated);
  CHECK(before.without_row(3, false).from == Coverage::kExtrapolated);  // the last y of x = 1
}
