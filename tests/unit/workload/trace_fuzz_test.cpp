#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/workload/trace_format.h"
#include "tests/support/catch.h"
#include "tests/support/mutate.h"
#include "tests/unit/workload/trace_support.h"

// The readers take any bytes: they read a trace or throw InputError, and nothing else.
namespace headway {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 30> kWords = {
    ",", "\"", "\"\"", "\n", "\r\n", "{", "}", "[", "]", ":", "-", "-1", "0", "nan", "inf",
    "1e308", "1e-400", "999999999999999999999", "1000000000000", "16777217", "0.0000000001",
    "null", "true", "\xEF\xBB\xBF", "arrival_s", "hash_ids", "\"input_length\": 5",
    "2024-02-30 23:59:60.9+14:59", "\xC3\x28", "-0"};

std::vector<fs::path> seeds() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(HEADWAY_SOURCE_DIR "/tests/fuzz/seeds/traces")) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// True when the text was read as a trace.
bool survives(const test::TempFolder& folder, const std::string& text, const std::string& format) {
  WorkloadOptions options;
  options.trace = folder.write("fuzzed", text);
  options.format = format;
  try {
    const auto trace = test::read_all(options);
    SimTime last;
    for (const Request& r : trace.requests) {
      REQUIRE(r.prompt_tokens >= 1);
      REQUIRE(r.prompt_tokens <= kMaxRowTokens);
      REQUIRE(r.output_tokens >= 1);
      REQUIRE(r.arrival >= last);
      last = r.arrival;
    }
    return true;
  } catch (const InputError& error) {
    REQUIRE(std::string(error.what()).size() > 10);
    return false;
  }
}

TEST_CASE("fuzz: damaged traces are read or refused", "[unit][trace][fuzz]") {
  constexpr int kRounds = 300;
  const test::TempFolder folder;
  int read = 0, refused = 0;
  for (const fs::path& seed : seeds()) {
    std::ifstream in(seed, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    REQUIRE(survives(folder, text, "auto"));
    test::Mutator mutator(hash_name(seed.filename().string()));
    for (int i = 0; i < kRounds; ++i) {
      const std::string damaged = mutator.mutate(text, kWords);
      // Half of them as told, so that damage to the header gets past the recognition.
      const std::string format = i % 2 == 0 ? "auto" : seed.stem().string();
      (survives(folder, damaged, format) ? read : refused)++;
    }
  }
  // Both outcomes are common; otherwise the damage is of the wrong size to test anything.
  CHECK(read > 100);
  CHECK(refused > 100);
}

TEST_CASE("fuzz: every format refuses the other formats' files", "[unit][trace][fuzz]") {
  const test::TempFolder folder;
  for (const fs::path& seed : seeds()) {
    std::ifstream in(seed, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const TraceFormat& format : trace_formats()) {
      CAPTURE(seed.string(), format.name);
      CHECK(survives(folder, text, format.name) == (seed.stem() == format.name));
    }
  }
}

}  // namespace
}  // namespace headway
