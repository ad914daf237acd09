// headway validate from its command line, small enough for every test run: that it runs to the end
// and says what it should. No time is asserted.
#include "tests/support/catch.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_folder.h"

using test_result = headway::test::ProgramResult;
using headway::test::run_program;

namespace {

const std::vector<std::string> kTiny{"validate",
                                     "--device",
                                     "cpu",
                                     "--rounds",
                                     "1",
                                     "--seconds",
                                     "0.2",
                                     "--profile-seconds",
                                     "0.4",
                                     "--set",
                                     "model=toy-llama-12m",
                                     "--set",
                                     "engine.max_num_seqs=4",
                                     "--set",
                                     "engine.max_num_batched_tokens=32",
                                     "--set",
                                     "workload.input_len=12",
                                     "--set",
                                     "workload.output_len=4",
                                     "--quiet"};

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("validate runs end to end, prints its table and keeps its profile", "[cli]") {
  const headway::test::TempFolder folder;
  const test_result result =
      run_program(with(kTiny, {"--save-profile", folder.path() + "/measured"}));
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  for (const char* part :
       {"toy-llama-12m", "Capacity", "Host terms measured", "idle", "half", "knee", "overload",
        "TPOT mean ms", "E2EL mean ms", "output tok/s", "0 differ", "Verdict below the knee"}) {
    CHECK_THAT(result.out, ContainsSubstring(part));
  }
  // What was measured prices a simulation.
  const test_result run = run_program(
      {"run", "validate-cpu", "--set", "profile=" + folder.path() + "/measured", "--set",
       "engine.max_num_seqs=4", "--set", "engine.max_num_batched_tokens=32", "--limit", "20"});
  INFO(run.err);
  CHECK(run.exit_code == 0);
}

TEST_CASE("validate refuses what it cannot run, with the reason", "[cli]") {
  const auto refused = [](const std::vector<std::string>& words, const std::string& part) {
    const test_result result = run_program(words);
    INFO(part << "\n" << result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, ContainsSubstring(part));
  };
  refused({"validate"}, "--device");
  refused({"validate", "--device", "gpu"}, "--device");
  refused({"validate", "--device", "cpu", "no-such-scenario"}, "no-such-scenario");
  refused(with(kTiny, {"--set", "model=qwen3-30b-a3b"}), "mixture of experts");
  refused(with(kTiny, {"--set", "workload.samples=2"}), "samples");
  refused(with(kTiny, {"--set", "engine.scheduler=sglang"}), "scheduler");
  refused(with(kTiny, {"--set", "cluster.replicas=2"}), "replicas");
  refused(with(kTiny, {"--save-profile", "/proc/none"}), "/proc/none");
}
