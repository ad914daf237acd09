// headway capacity --plan, as a user calls it.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/catch.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_folder.h"

using namespace headway;
using namespace headway::test;

namespace {

namespace fs = std::filesystem;

// Four setups that run, two whose heads do not divide.
const char* const kPlan = R"({
  "scenario": "s.json",
  "axes": {"parallel.tensor_parallel_size": [1, 2, 3],
           "engine.scheduler": ["orca", "vllm-v1"]}
})";

class PlanTest {
 public:
  PlanTest() {
    folder_.write("s.json", R"({
      "model": "llama-3.1-8b", "gpu": "h100-sxm",
      "engine": {"max_model_len": 2048, "max_num_seqs": 64},
      "workload": {"num_prompts": 60, "request_rate": 8, "input_len": 400, "output_len": 60}})");
    plan(kPlan);
  }
  void plan(const std::string& text) const { folder_.write("p.json", text); }
  ProgramResult run(const std::vector<std::string>& more, int exit_code = 0) const {
    std::vector<std::string> words = {"capacity", "--plan",      "p.json", "--seeds",
                                      "1",        "--tolerance", "0.1"};
    return run_words(std::move(words), more, exit_code);
  }
  ProgramResult at_fixed_load(const std::vector<std::string>& more, int exit_code = 0) const {
    return run_words({"capacity", "--plan", "p.json", "--fixed-load"}, more, exit_code);
  }
  const TempFolder& folder() const { return folder_; }

 private:
  ProgramResult run_words(std::vector<std::string> words, const std::vector<std::string>& more,
                          int exit_code) const {
    words.insert(words.end(), more.begin(), more.end());
    ProgramResult result = run_program(words, Stdout::kCaptured, folder_.path());
    INFO(result.err);
    CHECK(result.exit_code == exit_code);
    return result;
  }

  TempFolder folder_;
};

}  // namespace

TEST_CASE("a plan's setups are searched, put side by side and drawn", "[cli][capacity]") {
  const PlanTest test;
  const ProgramResult found =
      test.run({"--slo", "ttft:p99:200", "--json", "-j", "3", "-o", "d", "--csv", "t.csv", "--svg",
                "t.svg", "--save-result", "t.json"});
  const auto json = nlohmann::json::parse(found.out);
  REQUIRE(json.at("points").size() == 6);
  CHECK(json.at("fronts").size() == 2);  // of one and of two GPUs
  for (const auto& front : json.at("fronts")) CHECK_FALSE(front.at("points").empty());
  const auto& orca = json.at("points").at(0);
  CHECK(orca.at("settings").at("engine.scheduler") == "orca");
  CHECK(orca.at("gpus") == 1);
  // 1 / mean TPOT, and the goodput by the limit that the search was given.
  CHECK(orca.at("tokens_per_s_per_user").get<double>() ==
        Approx(1000 / orca.at("mean_tpot_ms").get<double>()));
  CHECK(orca.at("p99_ttft_ms").get<double>() <= 200);
  CHECK(orca.at("slo_attainment").get<double>() >= 0.98);
  CHECK(json.at("points").at(2).at("gpus") == 2);
  const auto& odd = json.at("points").at(4);
  CHECK(odd.at("status") == "refused");
  CHECK_THAT(odd.at("reason").get<std::string>(), ContainsSubstring("tensor_parallel_size"));
  CHECK(read_text(test.folder() / "t.json") == found.out);
  CHECK_THAT(read_text(test.folder() / "t.svg"), ContainsSubstring("</svg>"));
  const std::string csv = read_text(test.folder() / "t.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 7);

  // Any number of threads, and a folder half of which is gone: the same bytes.
  CHECK(test.run({"--slo", "ttft:p99:200", "--json", "-j", "1"}).out == found.out);
  const auto kept = fs::last_write_time(test.folder() / "d/points/000001.json");
  fs::remove(test.folder() / "d/points/000000.json");
  CHECK(test.run({"--slo", "ttft:p99:200", "--json", "-o", "d"}).out == found.out);
  CHECK(fs::last_write_time(test.folder() / "d/points/000001.json") == kept);

  // That folder is of this SLO, and no sweep's.
  CHECK_THAT(test.run({"--slo", "ttft:p99:300", "-o", "d"}, 2).err,
             ContainsSubstring("another plan"));
  const ProgramResult merge =
      run_program({"sweep", "merge", "d"}, Stdout::kCaptured, test.folder().path());
  CHECK(merge.exit_code == 2);
  CHECK_THAT(merge.err, ContainsSubstring("capacity study"));
}

TEST_CASE("setups are compared at the loads they state, and those that miss the SLO are named",
          "[cli][capacity]") {
  const PlanTest test;
  test.plan(R"({"scenario": "s.json", "axes": {"workload.request_rate": [4, 8, 4000]}})");
  const ProgramResult all = test.at_fixed_load({"--all"});
  CHECK_THAT(all.out, ContainsSubstring("1 GPU: ") && ContainsSubstring("of 3 setups"));
  const ProgramResult some = test.at_fixed_load({"--slo", "ttft:p99:200", "--json"});
  const auto json = nlohmann::json::parse(some.out);
  CHECK(json.at("points").at(2).at("status") == "missed");
  // A lower load is the faster one for a user, a higher one yields more: both stay.
  CHECK(json.at("fronts").at(0).at("points") == nlohmann::json({0, 1}));
  CHECK(test.at_fixed_load({"--slo", "ttft:p99:0.01"}, 4).err.find("none of the setups meets") !=
        std::string::npos);
}

TEST_CASE("setups that cannot run are listed, and end the study when asked", "[cli][capacity]") {
  const PlanTest test;
  test.plan(R"({"scenario": "s.json", "axes": {"model": ["llama-3.1-8b", "llama-3.1-70b"]}})");
  const ProgramResult listed = test.at_fixed_load({});
  CHECK_THAT(listed.out, ContainsSubstring("Cannot run:\n  model=llama-3.1-70b: "));
  CHECK_THAT(test.at_fixed_load({"--strict"}, 3).err, ContainsSubstring("1 setups cannot run"));
  test.plan(R"({"scenario": "s.json", "axes": {"model": ["llama-3.1-70b"]}})");
  CHECK_THAT(test.at_fixed_load({}, 3).err, ContainsSubstring("none of the setups can run"));
}

TEST_CASE("what a plan study cannot take is said before anything runs", "[cli][capacity]") {
  const PlanTest test;
  const auto refused = [&](const std::vector<std::string>& more, const char* word) {
    const ProgramResult result = test.run(more, 2);
    CHECK_THAT(result.err, ContainsSubstring(word));
    CHECK(result.out.empty());
  };
  refused({}, "no SLO");
  refused({"--slo", "ttft:p99:200", "--set", "seed=1"}, "--set beside --plan");
  refused({"--slo", "ttft:p99:200", "--limit", "5"}, "--limit beside --plan");
  refused({"--slo", "ttft:p99:200", "--fixed-load"}, "--seeds");
  refused({"--slo", "ttft:p99:200", "--force"}, "-o DIR");
  refused({"--slo", "ttft:p99:200", "--csv", "x", "--svg", "x"}, "two outputs");
  refused({"--attainment", "0.9"}, "no limits");  // the scenario has none
  test.plan(R"({"scenario": "s.json", "axes": {"engine.scheduler": ["orca", "orka"]}})");
  refused({"--slo", "ttft:p99:200", "-o", "d"}, "did you mean orca?");
  CHECK_FALSE(fs::exists(test.folder() / "d"));
  test.plan(R"({"scenario": "s.json", "axes": {"workload.request_rate": [1, 2]}})");
  refused({"--slo", "ttft:p99:200"}, "what is searched for");
  const ProgramResult alone =
      run_program({"capacity", "quickstart", "--slo", "ttft:p99:200", "--svg", "x.svg"});
  CHECK(alone.exit_code == 2);
  CHECK_THAT(alone.err, ContainsSubstring("--plan"));
  CHECK_THAT(run_program({"capacity", "--slo", "ttft:p99:5"}).err,
             ContainsSubstring("no scenario"));
}
