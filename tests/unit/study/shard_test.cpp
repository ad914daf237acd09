#include "sim/study/shard.h"

#include <algorithm>
#include <array>
#include <map>

#include "sim/core/errors.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

// "index/count by source", "none", or "error".
std::string shard_of(const std::map<std::string, std::string>& variables) {
  const auto get = [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  try {
    const auto shard = shard_from_environment(get);
    if (!shard) return "none";
    return std::to_string(shard->index) + "/" + std::to_string(shard->count) + " " + shard->source;
  } catch (const InputError&) {
    return "error";
  }
}

}  // namespace

TEST_CASE("shards take every point once, in parts of one size", "[unit][study]") {
  for (const std::int64_t count : {1, 7, 100, 1000}) {
    for (const std::int64_t n : {1, 2, 4, 9}) {
      std::vector<std::int64_t> all;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto mine = shard_points(count, {i, n, ""});
        const auto size = static_cast<std::int64_t>(mine.size());
        CHECK((size == count / n || size == count / n + 1));
        all.insert(all.end(), mine.begin(), mine.end());
      }
      std::sort(all.begin(), all.end());
      REQUIRE(static_cast<std::int64_t>(all.size()) == count);
      for (std::int64_t i = 0; i < count; ++i) REQUIRE(all[static_cast<std::size_t>(i)] == i);
    }
  }
}

TEST_CASE("no shard gets one value of an axis alone", "[unit][study]") {
  // The last axis has as many values as there are shards: index % 4 would give each shard one.
  for (std::int64_t i = 0; i < 4; ++i) {
    std::array<int, 4> of_value{};
    for (const std::int64_t index : shard_points(1000, {i, 4, ""})) {
      ++of_value[static_cast<std::size_t>(index % 4)];
    }
    for (const int n : of_value) CHECK(n > 35);  // 62.5 each, less 4 standard deviations
  }
}

TEST_CASE("--shard is I/N", "[unit][study]") {
  const Shard shard = parse_shard("3/16");
  CHECK(shard.index == 3);
  CHECK(shard.count == 16);
  for (const char* bad : {"", "3", "/", "3/", "/4", "4/4", "-1/4", "1/4x", "a/b", "0/0", "1 /2"}) {
    CHECK_THROWS_AS(parse_shard(bad), InputError);
  }
}

TEST_CASE("launchers are known by their variables", "[unit][study]") {
  CHECK(shard_of({}) == "none");
  CHECK(shard_of({{"SLURM_ARRAY_TASK_ID", "5"},
                  {"SLURM_ARRAY_TASK_MIN", "2"},
                  {"SLURM_ARRAY_TASK_COUNT", "8"}}) == "3/8 SLURM_ARRAY_TASK_ID");
  CHECK(shard_of({{"SLURM_ARRAY_TASK_ID", "6"},
                  {"SLURM_ARRAY_TASK_MIN", "0"},
                  {"SLURM_ARRAY_TASK_STEP", "2"},
                  {"SLURM_ARRAY_TASK_COUNT", "5"}}) == "3/5 SLURM_ARRAY_TASK_ID");
  // --array=1,9 is no even spacing.
  CHECK(shard_of({{"SLURM_ARRAY_TASK_ID", "9"},
                  {"SLURM_ARRAY_TASK_MIN", "1"},
                  {"SLURM_ARRAY_TASK_COUNT", "2"}}) == "error");
  CHECK(shard_of({{"SLURM_ARRAY_TASK_ID", "5"}}) == "error");
  CHECK(shard_of({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}}) == "1/3 SLURM_PROCID");
  // A batch script has these without srun, and one process of it must do everything.
  CHECK(shard_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}) == "none");
  CHECK(shard_of({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}) ==
        "2/4 OMPI_COMM_WORLD_RANK");
  // mpirun in a Slurm job starts its daemons by srun: their variables do not count.
  CHECK(shard_of({{"OMPI_COMM_WORLD_RANK", "2"},
                  {"OMPI_COMM_WORLD_SIZE", "4"},
                  {"SLURM_PROCID", "1"},
                  {"SLURM_STEP_NUM_TASKS", "2"}}) == "2/4 OMPI_COMM_WORLD_RANK");
  CHECK(shard_of({{"JOB_COMPLETION_INDEX", "2"}, {"HEADWAY_SHARD_COUNT", "10"}}) ==
        "2/10 JOB_COMPLETION_INDEX");
  CHECK(shard_of({{"JOB_COMPLETION_INDEX", "2"}}) == "error");
  CHECK(shard_of({{"JOB_COMPLETION_INDEX", "2"}, {"HEADWAY_SHARD_COUNT", "2"}}) == "error");
  CHECK(shard_of({{"JOB_COMPLETION_INDEX", "x"}, {"HEADWAY_SHARD_COUNT", "2"}}) == "error");
  // The second of three array tasks, each of four processes: the sixth of twelve.
  CHECK(shard_of({{"SLURM_ARRAY_TASK_ID", "1"},
                  {"SLURM_ARRAY_TASK_COUNT", "3"},
                  {"SLURM_PROCID", "1"},
                  {"SLURM_STEP_NUM_TASKS", "4"}}) ==
        "5/12 SLURM_ARRAY_TASK_ID and SLURM_PROCID");
}
