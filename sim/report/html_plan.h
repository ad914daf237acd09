#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/report/html_data.h"
#include "sim/study/pareto.h"

namespace headway {

// The data of a report of `headway capacity --plan`: its setups with the load that each bears, and
// their Pareto front.
nlohmann::ordered_json plan_report(const ReportHead& head, const ParetoTable& table);

}  // namespace headway
