#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "sim/workload/request.h"

namespace headway::conformance {

// A request of a recording that names every token (vLLM, SGLang). REQUIRES: the keys are there.
Request read_token_request(const nlohmann::json& recorded, std::uint64_t id);

}  // namespace headway::conformance
