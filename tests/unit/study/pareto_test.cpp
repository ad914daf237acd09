#include "sim/study/pareto.h"

#include <algorithm>

#include "sim/core/errors.h"
#include "sim/report/pareto_text.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

using namespace headway;

namespace {

ParetoSetup point(double user, double gpu, std::int32_t gpus = 1) {
  ParetoSetup p;
  p.gpus = gpus;
  p.tokens_per_s_per_user = user;
  p.tokens_per_s_per_gpu = gpu;
  return p;
}

std::string marks(std::vector<ParetoSetup> points) {
  mark_fronts(points);
  std::string text;
  for (const ParetoSetup& p : points) text += p.on_front ? '*' : '.';
  return text;
}

Plan plan_of(const std::string& axes) {
  const test::TempFolder folder;
  folder.write("s.json", R"({"model": "llama-3.1-8b", "gpu": "h100-sxm",
    "workload": {"num_prompts": 30, "request_rate": 2, "input_len": 100, "output_len": 5}})");
  return read_plan(folder.write("p.json", R"({"scenario": "s.json", )" + axes + "}"));
}

}  // namespace

TEST_CASE("a point is on the front unless another is as good in both and better in one",
          "[unit][study]") {
  // By hand: (100, 10) is the fastest, (20, 90) yields most; (50, 50) lies between and nothing
  // beats it; (50, 40) is beaten by it at the same speed, (40, 50) at the same yield, (30, 45) in
  // both.
  CHECK(marks({point(100, 10), point(20, 90), point(50, 50), point(50, 40), point(40, 50),
               point(30, 45)}) == "***...");
  CHECK(marks({point(50, 50), point(50, 50)}) == "**");  // neither beats the other
  CHECK(marks({point(60, 50), point(50, 50), point(50, 60)}) == "*.*");
  CHECK(marks({point(7, 7)}) == "*");
  CHECK(marks({}).empty());
}

TEST_CASE("GPU counts are not mixed, and what did not run beats nothing", "[unit][study]") {
  // The two-GPU setup is the worse one in both, and the only one of its count.
  CHECK(marks({point(100, 100, 1), point(10, 10, 2)}) == "**");
  CHECK(marks({point(10, 10, 2), point(9, 11, 2), point(9, 9, 2), point(11, 11, 1)}) == "**.*");
  std::vector<ParetoSetup> points = {point(10, 10), point(99, 99), point(50, 50, 4)};
  points[1].status = ParetoSetup::Status::kMissed;
  CHECK(marks(points) == "*.*");
  CHECK(gpu_counts(points) == std::vector<std::int32_t>{1, 4});
  points.push_back(point(20, 5));
  const auto of_one = points_of(points, 1);
  REQUIRE(of_one.size() == 2);
  CHECK(of_one.front()->tokens_per_s_per_user == 20);  // the fastest first
}

TEST_CASE("the load that is searched for is no axis, and seeds are the search's", "[unit][study]") {
  ParetoOptions options;
  options.search.requirements.targets.push_back(parse_slo_target("ttft:p99:200"));
  const Plan rates = plan_of(R"("axes": {"workload.request_rate": [1, 2]})");
  CHECK_THROWS_WITH(pareto_plan(rates, options), ContainsSubstring("axes.workload.request_rate") &&
                                                     ContainsSubstring("what is searched for"));
  options.search.axis = CapacityAxis::kReplicas;
  CHECK_NOTHROW(pareto_plan(rates, options));  // replicas for each of two rates
  CHECK_THROWS_WITH(pareto_plan(plan_of(R"("axes": {"cluster.replicas": [1, 2]})"), options),
                    ContainsSubstring("cluster.replicas"));
  options.fixed_load = true;
  CHECK_NOTHROW(pareto_plan(rates, options));
  CHECK_THROWS_WITH(pareto_plan(plan_of(R"("seeds": 3)"), options), ContainsSubstring("--seeds"));
}

TEST_CASE("a study's folder is told from a sweep's and from one with another SLO",
          "[unit][study]") {
  const Plan plan = plan_of(R"("axes": {"engine.scheduler": ["orca", "vllm-v1"]})");
  ParetoOptions loose, strict;
  loose.search.requirements.targets.push_back(parse_slo_target("ttft:p99:2000"));
  strict.search.requirements.targets.push_back(parse_slo_target("ttft:p99:2000.001"));
  CHECK(plan_hash(pareto_plan(plan, loose)) != plan_hash(plan));
  CHECK(plan_hash(pareto_plan(plan, loose)) != plan_hash(pareto_plan(plan, strict)));
  const Plan written = pareto_plan(plan, loose);
  CHECK(plan_hash(plan_from_text(plan_text(written), "f")) == plan_hash(written));
}

TEST_CASE("a table shows the fronts, and all points when asked", "[unit][study]") {
  ParetoTable table;
  table.name = "n";
  table.keys = table.shown = {"engine.scheduler"};
  table.points = {point(50, 50), point(40, 40), point(30, 30, 2)};
  const char* const names[] = {"orca", "static", "vllm-v1"};
  for (std::size_t i = 0; i < 3; ++i) {
    table.points[i].index = static_cast<std::int64_t>(i);
    table.points[i].settings = {{"engine.scheduler", names[i]}};
  }
  ParetoSetup& left_out = table.points.emplace_back();
  left_out.index = 3;
  left_out.status = ParetoSetup::Status::kRefused;
  left_out.settings = {{"engine.scheduler", "a,b"}};
  left_out.label = "engine.scheduler=a,b";
  left_out.reason = "does not fit";
  mark_fronts(table.points);
  const std::string text = pareto_text(table, false);
  CHECK_THAT(text, ContainsSubstring("1 GPU: 1 of 2 setups on the front"));
  CHECK_THAT(text, ContainsSubstring("2 GPUs: 1 of 1 setup on the front\n"));
  CHECK_THAT(text, ContainsSubstring("engine.scheduler=a,b: does not fit"));
  CHECK(text.find("static") == std::string::npos);
  CHECK_THAT(pareto_text(table, true), ContainsSubstring("static"));
  const std::string csv = pareto_csv(table);
  CHECK_THAT(csv, ContainsSubstring("\n0,orca,ok,1,"));
  CHECK_THAT(csv, ContainsSubstring("\n3,\"a,b\",refused,,,,,,,,,,,,,,does not fit\n"));
  const auto commas = [](const std::string& line) {
    return std::count(line.begin(), line.end(), ',');
  };
  CHECK(commas(csv.substr(0, csv.find('\n'))) ==
        commas(csv.substr(csv.find("\n0,"), csv.find("\n1,") - csv.find("\n0,"))));
  const std::string svg = pareto_svg(table);
  CHECK_THAT(svg, ContainsSubstring("2 GPUs") && ContainsSubstring("class=\"beaten\""));
}
