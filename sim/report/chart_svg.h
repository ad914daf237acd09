#pragma once

#include <string>
#include <vector>

#include "sim/study/chart.h"

namespace headway {

// Charts side by side as one SVG that needs nothing else and follows the reader's light or dark
// theme. Every point's value is in its <desc>. A logarithmic scale leaves out what is not above 0.
std::string chart_svg(const std::vector<Chart>& charts, const std::string& title);

}  // namespace headway
