#include "kernels/validate/host_fit.h"

#include <algorithm>
#include <map>
#include <vector>

namespace headway::kernels {
namespace {

constexpr double kLeastBusy = 0.97;  // CPU time over wall time: below, something else ran

double median(std::vector<double>& values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

HostTerms fit_host_terms(std::span<const StepTiming> steps, double intake_us,
                         std::int64_t requests) {
  std::map<std::int32_t, std::vector<double>> by_batch;
  for (const StepTiming& step : steps) {
    if (step.busy >= kLeastBusy) by_batch[step.sequences].push_back(step.host_us);
  }
  double weight = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (auto& [sequences, host_us] : by_batch) {
    const double w = static_cast<double>(host_us.size()), n = sequences, us = median(host_us);
    weight += w;
    x += w * n;
    y += w * us;
    xx += w * n * n;
    xy += w * n * us;
  }
  HostTerms terms;
  terms.source = "measured in this engine";
  if (requests > 0) terms.per_request_us = intake_us / static_cast<double>(requests);
  if (weight == 0) return terms;
  const double spread = weight * xx - x * x;
  const double slope = spread > 0 ? (weight * xy - x * y) / spread : 0;
  terms.per_sequence_us = std::max(0.0, slope);
  terms.per_step_us = std::max(0.0, (y - terms.per_sequence_us * x) / weight);
  if (terms.per_step_us == 0 && x > 0) terms.per_sequence_us = y / x;
  return terms;
}

}  // namespace headway::kernels
