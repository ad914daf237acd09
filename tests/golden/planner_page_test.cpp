// The planner's demos, and docs/planner.md, which shows what they print. When outputs are meant to
// change, tests/golden/update_planner.sh writes the page anew.
#include <nlohmann/json.hpp>

#include "sim/core/input_file.h"
#include "sim/report/chart_svg.h"
#include "sim/study/demo.h"
#include "tests/support/catch.h"
#include "tests/support/said_numbers.h"
#include "tests/support/temp_folder.h"

using namespace headway;

namespace {

using Json = nlohmann::json;

// What an answer says, its tables have; and there is something to draw.
void check_answer(const DemoEntry& demo, const DemoAnswer& answer) {
  const std::set<std::string> computed = test::computed_numbers(answer);
  INFO(demo_text(demo, answer));
  CHECK(test::numbers(answer.answer).size() >= 2);
  for (const std::string& number : test::numbers(answer.answer)) {
    INFO(number);
    CHECK(computed.contains(number));
  }
  REQUIRE_FALSE(answer.charts.empty());
  for (const Chart& chart : answer.charts) CHECK_FALSE(chart.series.empty());
  for (const DemoTable& table : answer.tables) {
    for (const auto& row : table.rows) CHECK(row.size() == table.rows.front().size());
  }
}

// A demo's scenario, changed, in a folder.
std::string small_scenario(const test::TempFolder& folder, const std::string& name,
                           const Json& changes) {
  const std::string path = HEADWAY_SOURCE_DIR "/scenarios/planner/" + name + ".json";
  Json scenario = Json::parse(read_whole_file(path), nullptr, true, true);
  scenario.merge_patch(changes);
  return folder.write(name + ".json", scenario.dump());
}

}  // namespace

TEST_CASE("the planner's demos answer small scenarios with numbers of their own tables",
          "[golden][study]") {
  const Json small = {
      {"disaggregation", {{"workload", {{"limit", 60}}}}},
      {"routing", {{"workload", {{"limit", 120}}}}},
      {"autoscaling", {{"workload", {{"num_prompts", 1500}, {"days", 0.02}}}}},
      {"failure",
       {{"workload", {{"num_prompts", 2500}}},
        {"cluster",
         {{"startup_s", 5}, {"failures", {{{"replica", 3}, {"at_s", 5}, {"down_s", 3}}}}}}}}};
  const test::TempFolder folder;
  for (const DemoEntry& demo : planner_table()) {
    const std::string name(demo.name);
    CHECK(demo.question.ends_with("?"));
    CHECK(find_demo(name).name == demo.name);
    check_answer(demo, demo.run(small_scenario(folder, name, small.at(name))));
  }
}

#ifndef __SANITIZE_ADDRESS__  // a quarter of a minute of CPU, and five times that with sanitizers
TEST_CASE("golden: the planner's page shows what its demos print and draw", "[golden]") {
  const std::string page = read_whole_file(HEADWAY_SOURCE_DIR "/docs/planner.md");
  for (const DemoEntry& demo : planner_table()) {
    const DemoAnswer answer = demo.run(demo_scenario(demo));
    check_answer(demo, answer);
    const std::string name(demo.name);
    CHECK_THAT(page, ContainsSubstring("$ headway demo " + name + "\n" + demo_text(demo, answer) +
                                       "```\n"));
    CHECK_THAT(page, ContainsSubstring("(pictures/planner_" + name + ".svg)"));
    CHECK(chart_svg(answer.charts, std::string(demo.question)) ==
          read_whole_file(HEADWAY_SOURCE_DIR "/docs/pictures/planner_" + name + ".svg"));
  }
}
#endif
