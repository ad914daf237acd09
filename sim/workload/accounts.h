#pragma once

#include <string>

#include "sim/workload/workload_options.h"

namespace headway {

// Whether the workload tells tenants or priorities: some are listed, it is a synthetic trace (its
// services are tenants), or a row of the trace is of a tenant or a priority other than 0. The trace is
// read up to the first such row; a pipe cannot be read twice and is taken to have one. A fault of the
// trace is not told here but by open_workload(). `base_folder` as there.
bool has_accounts(const WorkloadOptions& options, const std::string& base_folder);

}  // namespace headway
