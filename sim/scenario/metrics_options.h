#pragma once

#include "sim/metrics/run_metrics.h"
#include "sim/scenario/scenario.h"

namespace headway {

// What RunMetrics is to tell of a run under these objectives.
inline MetricsOptions metrics_options(const SloOptions& slo) {
  return {slo.limits(), false, slo.classes, slo.by_tenant};
}

}  // namespace headway
