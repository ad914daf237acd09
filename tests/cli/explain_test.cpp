#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/run_program.h"

using namespace headway;
using test::ProgramResult;
using test::run_program;
using test::TempFolder;

namespace {

const char* const kBusy = R"({
  "model": "llama-3.1-8b", "gpu": "h100-sxm", "engine": {"max_num_seqs": 2},
  "workload": {"num_prompts": 20, "request_rate": 50, "input_len": 100, "output_len": 20}
})";

ProgramResult explain(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"explain", "-"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words, test::Stdout::kCaptured, "", kBusy);
}

}  // namespace

TEST_CASE("explain --request tells a life whose parts sum to its E2EL", "[cli]") {
  const ProgramResult text = explain({"--request", "19"});
  REQUIRE(text.exit_code == 0);
  for (const char* part : {"Request 19: 100 prompt + 20 output tokens", "every seat was taken",
                           "head of line: behind #", "its answer: 19 tokens in", "Sum = E2EL"}) {
    CHECK_THAT(text.out, ContainsSubstring(part));
  }
  const ProgramResult json = explain({"--request", "19", "--json"});
  REQUIRE(json.exit_code == 0);
  const auto life = nlohmann::json::parse(json.out);
  double sum = 0;
  for (const auto& piece : life["pieces"]) {
    for (const auto& [name, ms] : piece["parts_ms"].items()) sum += ms.get<double>();
  }
  CHECK(sum == Approx(life["e2el_ms"].get<double>()).epsilon(1e-12));
  CHECK(life["pieces"][0]["held_back_by_ms"].contains("seats"));
}

TEST_CASE("explain without a request: what the run is short of, and a change that was run", "[cli]") {
  const ProgramResult text = explain({});
  REQUIRE(text.exit_code == 0);
  for (const char* part : {"Where the p99 TTFT came from", "Where the mean E2EL came from",
                           "Busiest minute: 0 s to 60 s: 20 arrivals", "First bottleneck: seats",
                           "--set engine.max_num_seqs=4", "It helps."}) {
    CHECK_THAT(text.out, ContainsSubstring(part));
  }
  const auto json = nlohmann::json::parse(explain({"--json"}).out);
  CHECK(json["first_bottleneck"] == "seats");
  CHECK(json["tried"][0]["after"]["p99_ttft_ms"] < json["p99_ttft_ms"]);
}

TEST_CASE("explain: a request that no replica had, and what held the others at the gateway", "[cli]") {
  const std::vector<std::string> door = {"--set", "workload.request_rate=200", "--set",
                                         "cluster.admission={\"max_outstanding\": 1, \"max_queue\": 3}"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), door.begin(), door.end());
    return explain(more);
  };
  const ProgramResult text = with({"--request", "19"});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, ContainsSubstring("; no replica; arrived at"));
  CHECK_THAT(text.out, ContainsSubstring("Failed: queue full"));
  CHECK(nlohmann::json::parse(with({"--request", "19", "--json"}).out)["replica"].is_null());
  CHECK_THAT(with({}).out, ContainsSubstring("policy: --set cluster.admission.max_outstanding=2"));
}

TEST_CASE("explain: a request that does not exist", "[cli]") {
  const ProgramResult result = explain({"--request", "44"});
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, ContainsSubstring("--request"));
  CHECK_THAT(result.err, ContainsSubstring("the nearest is 19"));
  CHECK(explain({"--request", "-1"}).exit_code == 2);
}
