#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/scenario/parse.h"

namespace headway {

// What a message of the scenario's reader calls a key that came from the plan.
inline constexpr const char* kPlanFlag = "--plan";

// One dimension of a plan. Usually one key with its values; several keys ("gpu, profile") step
// together.
struct PlanAxis {
  std::vector<std::string> keys;                 // dotted keys of a scenario
  std::vector<std::vector<std::string>> values;  // of each step, one JSON text a key
};

// A study as a file: a scenario, what to set in it, and the keys to vary. The same plan always
// makes the same numbered list of points.
//
//   { "name": "...", "scenario": "demo", "set": {"profile": "roofline"},
//     "axes": {"engine.scheduler": ["orca", "vllm-v1"],
//              "gpu, profile": [["h100-sxm", "roofline"]]},
//     "seeds": 3, "limit": 1000 }
//
// `scenario` is a path (from the plan's folder) or a catalogue name. `seeds` is a list, or K for
// the scenario's own seed and the K-1 after it; it becomes the last axis. `limit` is as in --limit.
struct Plan {
  std::string file;                           // as given; for messages
  std::string name;                           // default: the file's stem
  std::string scenario_file, scenario_text;   // read once
  std::vector<Assignment> set;                // before those of the axes
  std::vector<PlanAxis> axes;                 // the first changes slowest
  std::int64_t limit = 0;                     // requests of a point; 0 = all
  std::string study;                          // JSON: what is done at a point; "" = it is run
  std::map<std::string, std::string> places;  // key -> "line 5: axes.engine.scheduler"
};

// One combination.
struct PlanPoint {
  std::int64_t index = 0;               // from 0, in plan order
  std::vector<Assignment> assignments;  // the axes' keys, in their order
};

// Strict JSON (`//` comments allowed). InputError: an unknown key (with the nearest), an axis
// without values, a value or key twice, axes that overwrite each other or `set`, more than
// kMaxPlanPoints.
// The scenarios themselves are looked at by check_plan.
Plan read_plan(const std::string& path);
inline constexpr std::int64_t kMaxPlanPoints = 100'000;

std::int64_t point_count(const Plan& plan);
PlanPoint plan_point(const Plan& plan, std::int64_t index);  // REQUIRES: 0 <= index < point_count
std::vector<PlanPoint> plan_points(const Plan& plan);
// "engine.scheduler=orca, seed=2"; "" without axes.
std::string point_label(const PlanPoint& point);
// The text of a value as a person writes it: orca, not "orca".
std::string plain_value(const std::string& json);

// The point's scenario, checked. InputError names the axis (or key of `set`) that is at fault;
// ContradictionError (scenario/check.h) where values do not go together at this point.
Scenario scenario_of(const Plan& plan, const PlanPoint& point);
// scenario_of for every point on up to `threads` threads, so that a mistake in the last is known
// before the first is run. A setup that cannot be is a mistake too, or else a point to be listed.
enum class Contradictions : std::uint8_t { kRefused, kListed };
void check_plan(const Plan& plan, int threads,
                Contradictions contradictions = Contradictions::kRefused);

// The plan with everything that its points' results depend on, and no place of this machine: JSON
// text that plan_from_text reads back (for point_count, plan_point and plan_hash, that is).
std::string plan_text(const Plan& plan);
Plan plan_from_text(const std::string& text, const std::string& file);
// Sixteen hexadecimal digits of plan_text but its name. Traces, configurations and profiles are in
// it as they are named, not by their content.
std::string plan_hash(const Plan& plan);

}  // namespace headway
