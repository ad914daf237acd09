#pragma once

#include <string>
#include <vector>

namespace headway::kernels {

// For each provider whose kernels are not in the table: its name and why ("cuDNN was not found:
// tried ...").
std::vector<std::string> missing_providers();

}  // namespace headway::kernels
