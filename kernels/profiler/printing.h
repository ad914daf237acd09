#pragma once

#include <string>
#include <vector>

#include "kernels/profiler/profile_run.h"

namespace headway::kernels {

// Operators, variants and number of points, for --list.
std::string list_text(const std::vector<KernelEntry>& entries, const std::vector<Point>& points);
// One line a table: points, how wide their intervals are, the best rates reached, the probes'
// error; then closure and overheads.
std::string table_text(const ProfileOutcome& outcome);
// Every measured point, probes marked.
std::string rows_csv(const ProfileOutcome& outcome);
std::string rows_json(const ProfileOutcome& outcome);

}  // namespace headway::kernels
