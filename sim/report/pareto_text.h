#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/study/pareto.h"

namespace headway {

// For a person: for each GPU count the setups on its front, the fastest for a user first (`all`:
// the dominated ones too, and the front marked), then what is not in the table and why.
std::string pareto_text(const ParetoTable& table, bool all);
// Every point of the plan, in its order, and each front by the points' numbers.
nlohmann::ordered_json pareto_json(const ParetoTable& table);
// One row a point, in plan order.
std::string pareto_csv(const ParetoTable& table);
// The fronts as curves, one a GPU count, with their setups numbered and named beside the picture.
std::string pareto_svg(const ParetoTable& table);

// What tells setups apart: "scheduler, tensor_parallel_size" and, of one, "orca, 2".
std::string short_keys(const ParetoTable& table);
std::string short_label(const ParetoTable& table, const ParetoSetup& point);
// "requests/s", "requests in flight", "replicas"
std::string load_unit(const ParetoTable& table);
// The lengths of a front: {on it, in all}.
std::pair<std::size_t, std::size_t> front_size(const ParetoTable& table, std::int32_t gpus);

}  // namespace headway
