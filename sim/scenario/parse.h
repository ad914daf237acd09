#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace headway {

// A change to a scenario's text before it is read: `--set KEY=VALUE`.
struct Assignment {
  std::string key;             // dotted: "engine.max_num_seqs"
  std::string value;           // JSON; what is not JSON is taken as a string
  std::string flag = "--set";  // what the user typed, for error messages
};

// Splits "KEY=VALUE". InputError when there is no "=" or no key.
Assignment parse_assignment(const std::string& text, const std::string& flag = "--set");

// Strict JSON (`//` comments allowed) -> Scenario, with every name resolved, every default filled
// in and every cross-check made (check.h). `file` is for messages and for relative paths, which
// start at its folder ("" or "standard input": the working folder).
// InputError{file, "line L: engine.max_num_seqs", found, expected}; what comes from an assignment
// is placed at "--set engine.max_num_seqs" of the "command line".
Scenario parse_scenario(const std::string& text, const std::string& file,
                        std::span<const Assignment> assignments = {});

// The same from a file, a catalogue name ("demo" = scenarios/demo.json of the data folder), or "-".
Scenario load_scenario(const std::string& path_or_name,
                       std::span<const Assignment> assignments = {});

// The file that path_or_name means. InputError when there is none.
std::string find_scenario(const std::string& path_or_name);

// Keeps the first `count` requests of the workload, trace or generated. REQUIRES: count >= 1.
void limit_requests(Scenario& scenario, std::int64_t count);

// The resolved scenario as JSON. Parsing it again yields the same Scenario. Paths are absolute, so
// that it means the same from any folder.
std::string to_json_text(const Scenario& scenario);

// One key of a scenario, from the very tables that the parser reads.
struct FieldDoc {
  std::string key;            // "engine.max_num_seqs"
  std::string type;           // "integer", "text" ...
  std::string valid;          // "1 to 1000000", "fcfs | priority"
  std::string default_value;  // JSON; "" = must be given
  std::string help;
};
std::vector<FieldDoc> scenario_fields();
std::vector<FieldDoc> length_fields();  // of the object form of a length, below "LENGTH"

}  // namespace headway
