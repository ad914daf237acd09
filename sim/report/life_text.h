#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/metrics/request_life.h"

namespace headway {

// A request's life, a line a stretch of like steps, with the cause of each wait and whose prompts held
// it up; then its parts, which sum to its E2EL.
std::string life_text(const RequestLife& life);

// The same for programs: {request, ..., pieces: [...], parts_ms}.
nlohmann::ordered_json life_json(const RequestLife& life);

}  // namespace headway
