#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "sim/report/html_data.h"
#include "sim/study/capacity.h"

namespace headway {

// The data of a capacity study's report: every run tried against its load, the answer with its
// interval, and the figures of `at`, a run at the answer (the first seed's).
nlohmann::ordered_json capacity_report(const ReportHead& head, const Scenario& scenario,
                                       const CapacityOptions& options, const CapacityAnswer& answer,
                                       const ReportRun& at, std::size_t columns);

}  // namespace headway
