#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/report/compare_table.h"

namespace headway {

// Each later row against the first, run by run: the rows' runs must be replicates with the same
// arrivals, in the same order, at least two. A metric counts as different only where its interval
// leaves out 0; else the table says that no difference is shown. `seed` starts the resampling.
std::string paired_text(const std::vector<CompareRow>& rows, std::uint64_t seed);
std::string paired_markdown(const std::vector<CompareRow>& rows, std::uint64_t seed);
nlohmann::ordered_json paired_json(const std::vector<CompareRow>& rows, std::uint64_t seed);

}  // namespace headway
