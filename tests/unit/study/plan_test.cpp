#include "sim/study/plan.h"


#include "sim/core/errors.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

using namespace headway;

namespace {

const char* const kScenario = R"({
  "model": "llama-3.1-8b", "gpu": "h100-sxm", "seed": 40,
  "workload": {"num_prompts": 30, "request_rate": 2, "input_len": 100, "output_len": 5}
})";

// A plan beside a small scenario, read.
class PlanFile {
 public:
  explicit PlanFile(const std::string& rest) {
    folder_.write("s.json", kScenario);
    path_ = folder_.write("p.json", "{\n\"scenario\": \"s.json\",\n" + rest + "}");
  }
  Plan read() const { return read_plan(path_); }
  std::string refusal() const {
    try {
      const Plan plan = read();
      check_plan(plan, 1);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  }

 private:
  test::TempFolder folder_;
  std::string path_;
};

void refused(const std::string& rest, const std::vector<std::string>& parts) {
  const std::string message = PlanFile(rest).refusal();
  for (const std::string& part : parts) CHECK_THAT(message, ContainsSubstring(part));
}

}  // namespace

TEST_CASE("points are numbered with the first axis slowest and the seeds last", "[unit][study]") {
  const PlanFile file(R"("axes": {"engine.scheduler": ["orca", "vllm-v1"],
                                  "workload.request_rate": [1, 2.5]}, "seeds": [7, 3])");
  const std::vector<PlanPoint> points = plan_points(file.read());
  const std::vector<std::string> expected = {
      "engine.scheduler=orca, workload.request_rate=1, seed=7",
      "engine.scheduler=orca, workload.request_rate=1, seed=3",
      "engine.scheduler=orca, workload.request_rate=2.5, seed=7",
      "engine.scheduler=orca, workload.request_rate=2.5, seed=3",
      "engine.scheduler=vllm-v1, workload.request_rate=1, seed=7",
      "engine.scheduler=vllm-v1, workload.request_rate=1, seed=3",
      "engine.scheduler=vllm-v1, workload.request_rate=2.5, seed=7",
      "engine.scheduler=vllm-v1, workload.request_rate=2.5, seed=3"};
  REQUIRE(points.size() == expected.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].index == static_cast<std::int64_t>(i));
    CHECK(point_label(points[i]) == expected[i]);
  }
}

TEST_CASE("a point's scenario has what the plan sets, its axes and its limit", "[unit][study]") {
  const PlanFile file(R"("set": {"engine.max_num_seqs": 9}, "limit": 12,
                         "axes": {"engine.scheduler": ["orca", "sarathi"]}, "seeds": 2)");
  const Plan plan = file.read();
  REQUIRE(point_count(plan) == 4);
  const Scenario last = scenario_of(plan, plan_point(plan, 3));
  CHECK(last.engine.scheduler == "sarathi");
  CHECK(last.engine.max_num_seqs == 9);
  CHECK(last.workload.num_prompts == 12);
  CHECK(last.seed == 41);  // the scenario's own is 40, and K seeds go up from it
  CHECK(scenario_of(plan, plan_point(plan, 2)).seed == 40);
}

TEST_CASE("keys joined by commas step together", "[unit][study]") {
  const PlanFile file(R"("axes": {"gpu, profile": [["h100-sxm", "h100-sxm/vllm-0.24.0"],
                                                   ["a100-sxm", "roofline"]]})");
  const Plan plan = file.read();
  REQUIRE(point_count(plan) == 2);
  CHECK(scenario_of(plan, plan_point(plan, 0)).profile == "h100-sxm/vllm-0.24.0");
  CHECK(scenario_of(plan, plan_point(plan, 1)).gpu_name == "a100-sxm");
  CHECK(scenario_of(plan, plan_point(plan, 1)).profile == "roofline");
}

TEST_CASE("a GPU and figures of it are axes that go together", "[unit][study]") {
  const PlanFile file(R"("axes": {"gpu": ["h100-sxm", "h200-sxm"],
                                  "gpu.memory_bytes": [60000000000, 70000000000]})");
  const Plan plan = file.read();
  const Scenario second = scenario_of(plan, plan_point(plan, 1));
  CHECK(second.gpu_name == "h100-sxm");
  CHECK(second.gpu.memory_bytes == 70000000000);
}

TEST_CASE("what is wrong with a plan is said at its place", "[unit][study]") {
  refused(R"("axis": {})", {"p.json", "axis", "an unknown key", "did you mean axes?"});
  refused(R"("axes": {})", {"nothing to vary"});
  refused(R"("axes": {"seed": []})", {"line 3: axes.seed", "an empty list"});
  refused(R"("axes": {"seed": 3})", {"line 3: axes.seed", "found 3", "a list of values"});
  refused(R"("axes": {"engine.max_num_seqs": [4, 8, 4]})",
          {"line 3: axes.engine.max_num_seqs[2]", "4 twice"});
  refused(R"("seeds": [1, 2, 1])", {"seeds[2]", "1 twice"});
  refused(R"("seeds": 0)", {"line 3: seeds", "found 0"});
  refused(R"("axes": {"seed": [1, 2]}, "seeds": 2)", {"seed a second time", "axes.seed"});
  refused("\"set\": {\"seed\": 1},\n\"axes\": {\"seed\": [1, 2]}",
          {"line 4: axes.seed", "a second time", "line 3: set.seed"});
  refused(R"("axes": {"engine.max_num_seqs": [1, 2], "engine": [{}]})",
          {"axes.engine", "overwrites engine.max_num_seqs"});
  refused(R"("axes": {"engine": [{"max_num_seqs": 4}], "engine.max_num_seqs": [1, 2]})",
          {"axes.engine.max_num_seqs", "a value of engine sets too"});
  refused(R"("axes": {"gpu, profile": [["h100-sxm"]]})", {"axes.gpu, profile[0]", "a list of 2"});
  refused(R"("axes": {"gpu,": [["h100-sxm", 1]]})", {"an empty key"});
  refused(R"("limit": 0, "axes": {"seed": [1]})", {"line 3: limit", "found 0"});
  refused(R"("seeds": [-1])", {"seeds[0]", "found -1", "at least 0"});
  refused(R"("axes": {"seed": [1, 2], "engine.max_num_seqs": [1, 2]}, "seeds": 50001)", {"seed"});
  refused(R"("axes": {"engine.max_num_seqs": [1, 2]}, "seeds": 50001)",
          {"100002 points", "at most 100000"});
}

TEST_CASE("a point's mistake names its axis, its value and the point", "[unit][study]") {
  refused(R"("axes": {"engine.shceduler": ["orca"]})",
          {"p.json", "line 3: axes.engine.shceduler", "point 0", "did you mean scheduler?"});
  refused(R"("axes": {"engine.scheduler": ["orca", "vlm-v1"]})",
          {"line 3: axes.engine.scheduler", "point 1", "vlm-v1", "did you mean vllm-v1?"});
  refused(R"("set": {"model": "lama-3.1-8b"}, "axes": {"seed": [1]})", {"line 3: set.model"});
  // Two axes that contradict each other at one of their combinations.
  refused("\"axes\": {\"engine.max_num_seqs\": [64, 512],\n"
          "\"engine.max_num_batched_tokens\": [512, 128]}",
          {"line 4: axes.engine.max_num_batched_tokens",
           "(point 3: engine.max_num_seqs=512, engine.max_num_batched_tokens=128)",
           "at least max_num_seqs"});
}

TEST_CASE("a plan's scenario is a path from its folder, or a catalogue name", "[unit][study]") {
  const test::TempFolder folder;
  folder.write("deep/s.json", kScenario);
  const Plan beside =
      read_plan(folder.write("p.json", R"({"scenario": "deep/s.json", "seeds": 1})"));
  CHECK(scenario_of(beside, plan_point(beside, 0)).workload.num_prompts == 30);
  const Plan named = read_plan(folder.write("q.json", R"({"scenario": "quickstart", "seeds": 1})"));
  CHECK(scenario_of(named, plan_point(named, 0)).name == "quickstart");
  CHECK_THROWS_AS(read_plan(folder.write("r.json", R"({"scenario": "s.json", "seeds": 1})")),
                  InputError);
}

TEST_CASE("the hash follows what the results depend on", "[unit][study]") {
  const auto hash = [](const std::string& scenario, const std::string& name,
                       const std::string& rest) {
    const test::TempFolder folder;  // another place each time
    folder.write("s.json", scenario);
    return plan_hash(
        read_plan(folder.write(name, "{\"scenario\": \"s.json\", " + rest + "}")));
  };
  const std::string first = hash(kScenario, "p.json", R"("seeds": [1, 2])");
  CHECK(first == hash(kScenario, "other.json", R"("seeds": [1,    2] // the same)" "\n"));
  CHECK(first != hash(kScenario, "p.json", R"("seeds": [2, 1])"));
  CHECK(first != hash(kScenario, "p.json", R"("seeds": [1, 2], "limit": 5)"));
  CHECK(first != hash(kScenario, "p.json", R"("seeds": [1, 2], "set": {"name": "x"})"));
  std::string changed = kScenario;
  changed.replace(changed.find("30"), 2, "31");
  CHECK(first != hash(changed, "p.json", R"("seeds": [1, 2])"));
}

TEST_CASE("a plan written out and read back has the same points and hash", "[unit][study]") {
  const PlanFile file(R"("name": "a \"name\"", "limit": 3, "set": {"engine.scheduler": "orca"},
      "axes": {"gpu, profile": [["h100-sxm", "roofline"], ["h200-sxm", "roofline"]],
               "workload.request_rate": [0.1, 1e3, "inf"]}, "seeds": 2)");
  const Plan plan = file.read();
  const Plan again = plan_from_text(plan_text(plan), "plan.json");
  CHECK(again.name == "a \"name\"");
  CHECK(plan_hash(again) == plan_hash(plan));
  REQUIRE(point_count(again) == 12);
  for (std::int64_t i = 0; i < 12; ++i) {
    CHECK(point_label(plan_point(again, i)) == point_label(plan_point(plan, i)));
  }
  for (const char* damaged : {"{}", "[1]", R"({"name": "x", "limit": 0, "points": 3})"}) {
    CHECK_THROWS_AS(plan_from_text(damaged, "plan.json"), InputError);
  }
}
