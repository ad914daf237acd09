#include "sim/core/parallel.h"

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("every index is worked on once, by any number of threads", "[unit][core]") {
  for (const int threads : {0, 1, 2, 7}) {
    for (const std::size_t n : {0u, 1u, 5u, 1000u}) {
      std::vector<int> calls(n, 0);
      parallel_for(n, threads, [&](std::size_t i) { ++calls[i]; });
      REQUIRE(std::accumulate(calls.begin(), calls.end(), std::size_t{0}) == n);
      REQUIRE(std::count(calls.begin(), calls.end(), 1) == static_cast<std::ptrdiff_t>(n));
    }
  }
}

TEST_CASE("what a call throws comes out, and no more begin", "[unit][core]") {
  std::vector<int> calls(100, 0);
  const auto work = [&](std::size_t i) {
    ++calls[i];
    if (i == 3) throw std::runtime_error("three");
  };
  REQUIRE_THROWS_WITH(parallel_for(100, 1, work), "three");
  REQUIRE(std::accumulate(calls.begin(), calls.end(), 0) == 4);
}
