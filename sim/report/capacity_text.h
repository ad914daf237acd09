#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/study/capacity.h"

namespace headway {

// A capacity study for a person: the answer with its interval, the run at it, what is missed first
// beyond it, and what was checked.
std::string capacity_text(const Scenario& scenario, const CapacityOptions& options,
                          const CapacityAnswer& answer);
// "the highest request rate: 4.1 requests/s  (95 % interval 4.0 to 4.2, 5 draws of the workload)".
std::string capacity_answer(const Scenario& scenario, const CapacityOptions& options,
                            const CapacityAnswer& answer);
std::string load_text(const CapacityOptions& options, double shown);  // "4.1 requests/s"
nlohmann::ordered_json capacity_json(const Scenario& scenario, const CapacityOptions& options,
                                     const CapacityAnswer& answer);

const char* capacity_unit(const CapacityOptions& options);      // "requests/s"
const char* capacity_question(const CapacityOptions& options);  // "the highest request rate"
std::string requirement_text(const Requirements& requirements);

}  // namespace headway
