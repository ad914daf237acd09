// headway capacity and compare --replicates, as a user calls them.
#include <nlohmann/json.hpp>

#include "tests/support/catch.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_folder.h"

using namespace headway;
using namespace headway::test;

namespace {

std::string write_scenario(const TempFolder& folder) {
  return folder.write("small.json",
                      R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "profile": "roofline",
    "slo": {"ttft_ms": 200},
    "workload": {"num_prompts": 200, "request_rate": 4, "input_len": 800,
                 "output_len": {"distribution": "uniform", "low": 20, "high": 200}}})");
}

}  // namespace

TEST_CASE("capacity answers, and says when there is no answer by its exit code", "[cli]") {
  const TempFolder folder;
  const std::string scenario = write_scenario(folder);
  const ProgramResult found =
      run_program({"capacity", scenario, "--slo", "ttft:p99:200", "--seeds", "2", "--json"});
  REQUIRE(found.exit_code == 0);
  const auto answer = nlohmann::json::parse(found.out);
  CHECK(answer.at("met") == "up to the answer");
  CHECK(answer.at("low").get<double>() <= answer.at("answer").get<double>());
  CHECK(answer.at("answer").get<double>() <= answer.at("high").get<double>());
  CHECK(answer.at("at_answer_ms").at("p99 TTFT <= 200 ms").get<double>() <= 200);
  CHECK(answer.at("by_seed").size() == 2);

  const ProgramResult never = run_program({"capacity", scenario, "--slo", "ttft:p99:0.01"});
  CHECK(never.exit_code == 4);
  CHECK_THAT(never.err, ContainsSubstring("never met"));
  const ProgramResult spent =
      run_program({"capacity", scenario, "--slo", "ttft:p99:200", "--max-runs", "2"});
  CHECK(spent.exit_code == 3);
  const ProgramResult share =
      run_program({"capacity", scenario, "--attainment", "0.95", "--seeds", "1"});
  CHECK(share.exit_code == 0);
  CHECK_THAT(share.out, ContainsSubstring("95 % of requests within"));
}

TEST_CASE("capacity refuses what cannot be looked for", "[cli]") {
  const TempFolder folder;
  const std::string scenario = write_scenario(folder);
  const auto refused = [&](std::vector<std::string> arguments, const char* word) {
    std::vector<std::string> all{"capacity", scenario};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ProgramResult result = run_program(all);
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, ContainsSubstring(word));
    CHECK(result.out.empty());
  };
  refused({}, "no SLO");
  for (const char* limit : {"nan", "inf", "-5", "0"}) {
    refused({"--slo", std::string("ttft:p99:") + limit}, "--slo");
    refused({"--attainment", "0.9", "--set", std::string("slo.ttft_ms=") + limit}, "slo.ttft_ms");
  }
  refused({"--slo", "ttft:p99:5", "--seeds", "1001"}, "1 to 1000");
  refused({"--slo", "ttft:p99:5", "--seeds", "0"}, "1 to 1000");
  refused({"--slo", "ttft:p99:5", "--threads", "4294967297"}, "1 to 4096");
  refused({"--slo", "ttft:p99:5", "--tolerance", "1e-9"}, "1e-06 to 1");
  refused({"--slo", "ttft:p99:5", "--find", "replicas", "--low", "1.5"}, "a whole number");
  refused({"--slo", "ttft:p99:5", "--find", "concurrency", "--high", "1e10"}, "1 to 100000000");
  refused({"--attainment", "nan"}, "--attainment");
  refused({"--slo", "ttfft:p99:5"}, "did you mean ttft?");
  refused({"--slo", "ttft:p99:5", "--find", "replica"}, "did you mean replicas?");
  refused({"--slo", "ttft:p99:5", "--low", "8", "--high", "4"}, "--low");
  refused({"--attainment", "1.5"}, "--attainment");
  refused({"--slo", "ttft:p99:5", "--set", "workload.max_concurrency=4"}, "--find concurrency");
  refused({"--slo", "ttft:p99:5", "--set", "cluster.replicas=0"}, "cluster.replicas");
}

TEST_CASE("capacity gives the bound of an SLO that is never or always met", "[cli]") {
  const TempFolder folder;
  const std::string scenario = write_scenario(folder);
  const auto capacity = [&](const char* find, const char* slo, std::vector<std::string> more) {
    std::vector<std::string> all{"capacity", scenario, "--slo", slo, "--find", find, "--seeds", "2"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all);
  };
  const auto never = [&](const char* find, std::vector<std::string> more, const char* bound) {
    const ProgramResult result = capacity(find, "ttft:p99:0.01", more);
    CHECK(result.exit_code == 4);
    CHECK_THAT(result.err, ContainsSubstring("the SLO is never met: even at " + std::string(bound)));
  };
  never("rate", {"--low", "0.5"}, "0.5 requests/s, p99 TTFT");
  never("concurrency", {}, "1 in flight");
  never("replicas", {"--high", "3"}, "3 replicas");
  const auto always = [&](const char* find, std::vector<std::string> more, const char* bound) {
    const ProgramResult result = capacity(find, "ttft:p99:1e8", more);
    CHECK(result.exit_code == 0);
    CHECK_THAT(result.out, ContainsSubstring("the SLO is always met: " + std::string(bound)));
  };
  always("rate", {"--high", "6"}, "no limit up to 6 requests/s");
  always("concurrency", {"--high", "5"}, "no limit up to 5 requests in flight");
  always("replicas", {}, "1 replica is enough");
  always("replicas", {"--low", "2", "--high", "3"}, "2 replicas are enough");
  // Of a trace nothing is drawn: seeds beyond the first would be the same run again.
  const ProgramResult recorded =
      run_program({"capacity", "demo", "--limit", "50", "--slo", "ttft:p99:1e8", "--find",
                   "replicas", "--seeds", "3"});
  CHECK_THAT(recorded.err, ContainsSubstring("one seed instead of 3"));
}

TEST_CASE("compare --replicates shows paired differences, and none where there is none", "[cli]") {
  const TempFolder folder;
  const std::string scenario = write_scenario(folder);
  const ProgramResult same = run_program({"compare", scenario, "--vary",
                                          "engine.max_num_seqs=256,255", "--replicates", "4"});
  REQUIRE(same.exit_code == 0);
  CHECK_THAT(same.out, ContainsSubstring("4 pairs of runs with the same arrivals"));
  CHECK_THAT(same.out, ContainsSubstring("no difference shown"));
  CHECK(same.err.empty());
  const ProgramResult recorded =
      run_program({"compare", "demo", "--limit", "50", "--vary", "engine.scheduler=vllm-v1,orca",
                   "--replicates", "3"});
  CHECK_THAT(recorded.err, ContainsSubstring("all replicates are the same run"));
  const ProgramResult noisy =
      run_program({"compare", "demo", "--limit", "50", "--vary", "engine.scheduler=vllm-v1,orca",
                   "--replicates", "3", "--run-sigma", "0.05"});
  CHECK(noisy.err.find("the same run") == std::string::npos);
  CHECK(run_program({"compare", scenario, "--vary", "seed=1,2", "--run-sigma", "0.1"}).exit_code == 2);
  const ProgramResult other =
      run_program({"compare", scenario, "--vary", "engine.scheduler=vllm-v1,static",
                   "--replicates", "4", "--json"});
  REQUIRE(other.exit_code == 0);
  const auto json = nlohmann::json::parse(other.out);
  const auto& ttft = json.at("paired").at(0).at("metrics").at("mean_ttft_ms");
  CHECK(ttft.at("shown") == true);
  CHECK(ttft.at("low").get<double>() > 0);
  CHECK(json.at("rows").at(0).at("replicates") == 4);
}
