#include "sim/workload/trace_summary.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/cli/trace_command.h"
#include "tests/support/catch.h"
#include "tests/unit/workload/trace_support.h"

namespace headway {
namespace {

TraceSummary summary_of(const std::string& trace, const std::string& folder = "") {
  WorkloadOptions options;
  options.trace = trace;
  std::vector<std::string> notes;
  return summarise(*open_workload(options, folder, 0, notes));
}

TEST_CASE("a summary by hand", "[unit][trace]") {
  const test::TempFolder folder;
  folder.write("a.csv",
               "arrival_s,input_tokens,output_tokens,session_id\n"
               "0,10,1,4\n1,20,2,4\n2,30,3,5\n6,40,4,\n");
  const TraceSummary s = summary_of("a.csv", folder.path());
  CHECK(s.requests == 4);
  CHECK(s.span_s == Approx(6));
  CHECK(s.rate == Approx(0.5));
  // Gaps 1, 1, 4: mean 2, population variance 2.
  CHECK(s.gap_cv == Approx(0.70710678));
  CHECK(s.input.mean == Approx(25));
  CHECK(s.input.p50 == Approx(25));
  CHECK(s.input.p90 == Approx(37));
  CHECK(s.input.p99 == Approx(39.7));
  CHECK(s.input.min == 10);
  CHECK(s.input.max == 40);
  CHECK(s.input.total == 100);
  CHECK(s.output.p50 == Approx(2.5));
  CHECK(s.sessions == 2);
  CHECK(s.prefix_hit_tokens < 0);
}

TEST_CASE("ideal prefix hits count the unbroken beginning only", "[unit][trace]") {
  const test::TempFolder folder;
  // Blocks of 16. Second: hits 1, 2, then 9 is new, and the 3 behind it is another prefix.
  folder.write("a.csv",
               "arrival_s,input_tokens,output_tokens,block_ids16\n"
               "0,48,1,1 2 3\n1,64,1,1 2 9 3\n2,16,1,1\n3,32,1,2 3\n");
  const TraceSummary s = summary_of("a.csv", folder.path());
  CHECK(s.prefix_hit_blocks == Approx(3.0 / 10));
  CHECK(s.prefix_hit_tokens == Approx(48.0 / 160));
}

TEST_CASE("the catalogue's traces have the figures that were published", "[unit][trace]") {
  struct Known {
    const char* name;
    std::int64_t requests;
  };
  for (const auto& [name, requests] :
       {Known{"azure-2023-conv", 19366}, Known{"azure-2023-code", 8819},
        Known{"mooncake-synthetic", 3993}, Known{"sharegpt-llama-3.1-8b-300", 300},
        Known{"sharegpt-qwen3-300", 300}}) {
    CAPTURE(name);
    CHECK(summary_of(name).requests == requests);
  }
  const TraceSummary conv = summary_of("azure-2023-conv");
  CHECK(conv.span_s / 60 == Approx(58.4).margin(0.05));
  CHECK(conv.input.mean == Approx(1155).margin(1));
  CHECK(conv.output.mean == Approx(211).margin(0.5));
  const TraceSummary mooncake = summary_of("mooncake-conversation");
  CHECK(mooncake.requests == 12031);
  CHECK(mooncake.prefix_hit_blocks == Approx(0.366).margin(0.0005));
  CHECK(mooncake.prefix_hit_tokens == Approx(0.374).margin(0.0005));
}

TEST_CASE("trace inspect prints the summary as text and as JSON", "[unit][trace]") {
  const test::TempFolder folder;
  WorkloadOptions options;
  options.trace =
      folder.write("a.csv", "arrival_s,input_tokens,output_tokens\n1,10,1\n0,20,0\n0,30,2\n");
  const auto printed = [&](bool json) {
    const std::string path = folder / "out";
    std::FILE* out = std::fopen(path.c_str(), "w");
    CHECK(trace_inspect(options, json, out) == 0);
    std::fclose(out);
    std::ifstream in(path);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  CHECK_THAT(printed(false), ContainsSubstring("requests        2") &&
                                 ContainsSubstring("out of order") && ContainsSubstring("failed"));
  const auto json = nlohmann::json::parse(printed(true));
  CHECK(json["requests"] == 2);
  CHECK(json["input_tokens"]["mean"] == 20.0);
  CHECK(json["notes"].size() == 2);
}

TEST_CASE("trace inspect on a full disk is the user's error", "[unit][trace]") {
  std::FILE* full = std::fopen("/dev/full", "w");
  if (full == nullptr) return;
  WorkloadOptions options;
  options.trace = "sharegpt-qwen3-300";
  CHECK_THROWS_AS(trace_inspect(options, false, full), InputError);
  std::fclose(full);
}

}  // namespace
}  // namespace headway
