#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/study/roofline_study.h"

namespace headway {

// Tables for a person; with `formulas`, every operator's FLOPs and bytes with the numbers put in.
std::string roofline_text(const RooflineReport& report, bool formulas);
// Everything, unrounded: schema_version 1.
nlohmann::ordered_json roofline_json(const RooflineReport& report);
// The roofline with the operators on it, and the curve of latency and throughput. Follows the
// reader's light or dark theme.
std::string roofline_svg(const RooflineReport& report);

}  // namespace headway
