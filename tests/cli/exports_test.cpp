#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/run_program.h"

using namespace headway;
using test::ProgramResult;
using test::run_program;
using test::TempFolder;

namespace {

const char* const kSmall = R"({
  "model": "llama-3.1-8b", "gpu": "h100-sxm",
  "workload": {"num_prompts": 20, "request_rate": 20, "input_len": 100, "output_len": 10}
})";

ProgramResult run(const TempFolder& folder, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"run", folder.write("s.json", kSmall), "-q"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

}  // namespace

TEST_CASE("run writes a timeline and metrics, together with the rest", "[cli]") {
  const TempFolder folder;
  const std::string timeline = folder / "t.json", zipped = folder / "t.json.gz",
                    metrics = folder / "m.txt";
  REQUIRE(run(folder, {"--timeline", timeline, "--openmetrics", metrics}).exit_code == 0);
  CHECK(test::read_text(timeline).starts_with("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"));
  CHECK(test::read_text(timeline).ends_with("\n]}\n"));
  CHECK_THAT(test::read_text(metrics), ContainsSubstring("model_name=\"llama-3.1-8b\""));
  CHECK(test::read_text(metrics).ends_with("# EOF\n"));
  REQUIRE(run(folder, {"--timeline", zipped}).exit_code == 0);
  CHECK(test::read_text(zipped).starts_with("\x1f\x8b"));
  CHECK(std::filesystem::file_size(zipped) < std::filesystem::file_size(timeline) / 4);
}

TEST_CASE("a window outside the run leaves nothing behind", "[cli]") {
  const TempFolder folder;
  const std::string path = folder / "t.json", csv = folder / "r.csv";
  const ProgramResult result =
      run(folder, {"--timeline", path, "--timeline-window", "500:600", "--requests", csv});
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, ContainsSubstring("--timeline-window"));
  CHECK_THAT(result.err, ContainsSubstring("from 500.000 s on"));
  CHECK_THAT(result.err, ContainsSubstring("before the run ends"));
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_FALSE(std::filesystem::exists(csv));
}

TEST_CASE("exports: flags that cannot be", "[cli]") {
  const TempFolder folder;
  const std::string path = folder / "t.json";
  const std::vector<std::vector<std::string>> bad = {
      {"--timeline", path, "--timeline-window", "9:3"},
      {"--timeline", path, "--timeline-sample", "0"},
      {"--timeline", path, "--timeline-sample", "1.5"},
      {"--timeline-window", "1:2"},
      {"--openmetrics-interval", "5"},
      {"--openmetrics", path, "--openmetrics-interval", "0"},
      {"--openmetrics", path, "--timeline", path},
      {"--openmetrics", folder / "none/m.txt"}};
  for (const std::vector<std::string>& flags : bad) {
    INFO(flags.front() << " " << flags.back());
    const ProgramResult result = run(folder, flags);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK_FALSE(std::filesystem::exists(path));
  }
}
