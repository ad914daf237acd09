#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/text_table.h"
#include "sim/study/chart.h"

namespace headway {

struct DemoTable {
  std::string caption;  // "" = none
  TextTable rows;
};

// What a demo computed. Every number of `answer` is one of the tables' (or of `setup`, which says
// what was held fixed): it is written from them, never by hand, and a test looks them up.
struct DemoAnswer {
  std::string setup;
  std::vector<DemoTable> tables;
  std::string answer;  // one sentence
  std::vector<Chart> charts = {};  // of the planner's demos
};

// A demonstration: one question, answered by a computation that runs in seconds.
struct DemoEntry {
  std::string_view name;  // "03-batch-table"; its scenario is scenarios/lecture/NAME.json
  std::string_view question;
  DemoAnswer (*run)(const std::string& scenario);  // InputError when data is missing
  std::string_view folder = "lecture";             // of its scenario
};

// The visible table of demos, in the order of the lecture.
std::span<const DemoEntry> demo_table();
// And that of a planner's questions, on fleets: "routing" with scenarios/planner/routing.json.
std::span<const DemoEntry> planner_table();
// Of either table, by its name, its number ("3", "03") or the rest of its name ("batch-table").
// InputError that names the nearest entry when there is none.
const DemoEntry& find_demo(const std::string& name);

// The name of a demo's scenario in the catalogue: "lecture/03-batch-table".
std::string demo_scenario(const DemoEntry& demo);
// Question, setup, tables and answer, as a terminal shows them.
std::string demo_text(const DemoEntry& demo, const DemoAnswer& answer);

}  // namespace headway
