// The shape of the source tree itself: which room may include which.

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace headway {
namespace {

namespace fs = std::filesystem;

// Rooms of sim/ by rank: a file may include its own room and rooms of lower rank.
const std::map<std::string, int>& ranks() {
  static const std::map<std::string, int> table{
      {"core", 0},     {"workload", 1}, {"model", 1},      {"hardware", 1}, {"kv", 2},
      {"cost", 2},     {"metrics", 2},  {"scheduling", 3}, {"replica", 4},  {"routing", 5},
      {"scenario", 6}, {"cluster", 7},  {"study", 8},      {"report", 9},   {"cli", 10}};
  return table;
}

struct Include {
  std::string file;    // "sim/kv/block_pool.h"
  std::string target;  // "sim/core/errors.h", "vector"
};

std::string room_of(const std::string& path) {
  const std::size_t start = path.find('/') + 1;
  const std::size_t end = path.find('/', start);
  return end == std::string::npos ? "" : path.substr(start, end - start);
}

// "sim/core/errors.h" of `#include "sim/core/errors.h"`; "" for other lines.
std::string included(const std::string& line) {
  if (!line.starts_with("#include")) return "";
  const std::size_t open = line.find_first_of("<\"");
  const std::size_t close = line.find_first_of(">\"", open + 1);
  const bool whole = open != std::string::npos && close != std::string::npos;
  return whole ? line.substr(open + 1, close - open - 1) : "";
}

std::vector<Include> includes_below(const fs::path& root, const std::string& folder) {
  std::vector<Include> found;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    const std::string end = entry.path().extension().string();
    if (!entry.is_regular_file() || (end != ".h" && end != ".cpp")) continue;
    const std::string file = fs::relative(entry.path(), root).generic_string();
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      const std::string target = included(line);
      if (!target.empty()) found.push_back({file, target});
    }
  }
  return found;
}

bool is_foreign(const std::string& target) {
  for (const char* start : {"kernels/", "tests/", "cuda", "cublas", "cudnn", "curand", "cupti",
                            "nvml", "nvtx", "nccl"}) {
    if (target.starts_with(start)) return true;
  }
  return false;
}

// What is wrong with one include of a file of sim/; "" = nothing.
std::string fault(const Include& include) {
  const std::string room = room_of(include.file);
  if (!include.target.starts_with("sim/")) {
    return is_foreign(include.target) ? "sim/ may not include it" : "";
  }
  const std::string target = room_of(include.target);
  if (!ranks().contains(target)) return "no known room (add it to the ranks of this test)";
  if (room.empty()) return "";  // sim/main.cpp
  if (!ranks().contains(room)) return "lies in no known room (add it to the ranks of this test)";
  if (room == target) return "";
  if (room == "metrics" && target != "core") return "metrics/ sees announced facts only: core/";
  return ranks().at(target) < ranks().at(room) ? "" : "includes point from later rooms to earlier";
}

TEST_CASE("includes point one way, and sim/ knows no kernel and no CUDA", "[unit]") {
  const std::vector<Include> includes = includes_below(HEADWAY_SOURCE_DIR, "sim");
  REQUIRE(includes.size() > 100);
  for (const Include& include : includes) {
    const std::string wrong = fault(include);
    if (!wrong.empty()) FAIL_CHECK(include.file << " includes " << include.target << ": " << wrong);
  }
}

TEST_CASE("the rule for includes tells good from bad", "[unit]") {
  CHECK(fault({"sim/kv/a.h", "sim/core/errors.h"}).empty());
  CHECK(fault({"sim/kv/a.h", "vector"}).empty());
  CHECK(fault({"sim/main.cpp", "sim/cli/cli.h"}).empty());
  CHECK_FALSE(fault({"sim/core/a.h", "sim/kv/b.h"}).empty());
  CHECK_FALSE(fault({"sim/model/a.h", "sim/hardware/b.h"}).empty());
  CHECK_FALSE(fault({"sim/metrics/a.h", "sim/workload/b.h"}).empty());
  CHECK_FALSE(fault({"sim/cost/a.cpp", "kernels/gemm.h"}).empty());
  CHECK_FALSE(fault({"sim/cost/a.cpp", "cuda_runtime.h"}).empty());
  CHECK_FALSE(fault({"sim/cost/a.cpp", "cublas_v2.h"}).empty());
  CHECK_FALSE(fault({"sim/cost/a.cpp", "cuda/std/array"}).empty());
  CHECK_FALSE(fault({"sim/nowhere/a.cpp", "sim/core/errors.h"}).empty());
}

TEST_CASE("every header is guarded by #pragma once", "[unit]") {
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(HEADWAY_SOURCE_DIR) / "sim")) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream in(entry.path());
    bool guarded = false;
    for (std::string line; std::getline(in, line);) guarded = guarded || line == "#pragma once";
    INFO(entry.path().string());
    CHECK(guarded);
  }
}

}  // namespace
}  // namespace headway
