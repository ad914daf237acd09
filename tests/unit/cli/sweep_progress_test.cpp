#include "sim/cli/sweep_progress.h"

#include "sim/report/sweep_tables.h"
#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("progress says what is done and when the rest will be", "[unit][cli]") {
  SweepCounts counts;
  counts.total = 50;
  counts.found = 10;
  CHECK(progress_text(counts, 0) == "10 of 50 points (20 %)");
  for (int i = 0; i < 8; ++i) counts.add(PointStatus::kOk);
  counts.add(PointStatus::kRefused);
  counts.add(PointStatus::kFailed);
  // Ten points in five seconds; thirty are left.
  CHECK(progress_text(counts, 5) ==
        "20 of 50 points (40 %), 1 refused, 1 failed, 2 points/s, 15 s left");
  CHECK(progress_text(counts, 5000) ==
        "20 of 50 points (40 %), 1 refused, 1 failed, 0.002 points/s, 4.2 h left");
  CHECK(counts_text(counts) == "50 points: 8 run, 10 finished before, 1 refused, 1 failed");
}

TEST_CASE("missing points are named as ranges, the first few of them", "[unit][cli]") {
  CHECK(ranges_text({}).empty());
  CHECK(ranges_text({4}) == "4");
  CHECK(ranges_text({0, 1, 2, 7, 9, 10}) == "0-2, 7, 9-10");
  std::vector<std::int64_t> even;
  for (std::int64_t i = 0; i < 40; i += 2) even.push_back(i);
  CHECK(ranges_text(even) == "0, 2, 4, 6, 8, 10, 12, 14, 16, 18 ... (20 in all)");
}
