#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/study/capacity.h"

namespace headway {

// A capacity study for a person: the answer with its interval, the run at it, what is missed first
// beyond it, and what was checked.
std::string capacity_text(const Scenario& scenario, const CapacityOptions& options,
                          const CapacityAnswer& answer);
nlohmann::ordered_json capacity_json(const Scenario& scenario, const CapacityOptions& options,
                                     const CapacityAnswer& answer);

}  // namespace headway
