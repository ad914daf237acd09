#include "sim/cost/import/outliers.h"

#include <cmath>
#include <functional>

#include "tests/support/catch.h"

namespace headway {
namespace {

// A gemm grid of 4 n x 4 k x 5 m with the time of a machine of 700 TFLOP/s and a 5 us floor.
ProfileTable grid(const std::function<double(std::int64_t, std::int64_t, std::int64_t)>& factor) {
  ProfileTable t;
  t.op = "gemm";
  t.axes = {"n", "k", "m"};
  for (std::int64_t n : {2048, 4096, 8192, 12288}) {
    for (std::int64_t k : {2048, 4096, 8192, 12288}) {
      for (std::int64_t m : {256, 512, 1024, 4096, 8192}) {
        t.keys.insert(t.keys.end(), {n, k, m});
        t.time_us.push_back((5 + 2.0 * n * k * m / 700e6) * factor(n, k, m));
      }
    }
  }
  return t;
}

// Rows flagged, as "n,k,m".
std::vector<std::string> flagged(const ProfileTable& t) {
  std::vector<std::string> keys;
  for (std::size_t row = 0; row < t.flags.size(); ++row) {
    if (t.flags[row] != 0) {
      keys.push_back(std::to_string(t.key(row, 0)) + "," + std::to_string(t.key(row, 1)) + "," +
                     std::to_string(t.key(row, 2)));
    }
  }
  return keys;
}

TEST_CASE("A smooth table has no outliers", "[unit]") {
  ProfileTable t = grid([](auto, auto, auto) { return 1.0; });
  CHECK(flag_outliers(t) == 0);
  CHECK(t.flags.empty());
}

TEST_CASE("One stalled row is flagged, its neighbours are not", "[unit]") {
  SECTION("inside, slow") {
    ProfileTable t = grid([](auto n, auto k, auto m) {
      return n == 4096 && k == 8192 && m == 1024 ? 2.4 : 1.0;
    });
    CHECK(flag_outliers(t) == 1);
    CHECK(flagged(t) == std::vector<std::string>{"4096,8192,1024"});
  }
  SECTION("inside, too fast to be true") {
    ProfileTable t = grid([](auto n, auto k, auto m) {
      return n == 4096 && k == 8192 && m == 1024 ? 0.4 : 1.0;
    });
    CHECK(flag_outliers(t) == 1);
    CHECK(flagged(t) == std::vector<std::string>{"4096,8192,1024"});
  }
  SECTION("at the end of two axes, as on the H100") {
    ProfileTable t = grid([](auto n, auto k, auto m) {
      return n == 12288 && k == 4096 && m == 8192 ? 2.4 : 1.0;
    });
    CHECK(flag_outliers(t) == 1);
    CHECK(flagged(t) == std::vector<std::string>{"12288,4096,8192"});
  }
  SECTION("below the factor") {
    ProfileTable t = grid([](auto n, auto k, auto m) {
      return n == 4096 && k == 8192 && m == 1024 ? 1.5 : 1.0;
    });
    CHECK(flag_outliers(t) == 0);
  }
}

TEST_CASE("A step that one axis explains is no outlier", "[unit]") {
  // Every shape of more than 512 tokens runs a kernel that is twice as slow; so does every n of
  // 4096, whatever its k and m.
  ProfileTable t = grid([](auto, auto, auto m) { return m > 512 ? 2.0 : 1.0; });
  CHECK(flag_outliers(t) == 0);
  t = grid([](auto n, auto, auto) { return n == 4096 ? 2.0 : 1.0; });
  CHECK(flag_outliers(t) == 0);
}

TEST_CASE("A table of one axis is never judged", "[unit]") {
  ProfileTable t;
  t.axes = {"tokens"};
  t.keys = {1, 2, 3};
  t.time_us = {1, 50, 1};
  CHECK(flag_outliers(t) == 0);
}

}  // namespace
}  // namespace headway
