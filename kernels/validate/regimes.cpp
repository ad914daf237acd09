#include "kernels/validate/regimes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/errors.h"
#include "sim/scenario/parse.h"
#include "sim/workload/request_source.h"

namespace headway::kernels {
namespace {

// Requests a second of the trace as it stands, over its first so many.
double native_rate(const Scenario& s, std::int64_t count) {
  std::vector<std::string> notes;
  WorkloadOptions options = s.workload;
  options.rate_scale = 1;
  const auto source = open_workload(options, s.folder(), s.seed, notes);
  SimTime first, last;
  std::int64_t n = 0;
  while (n < count) {
    const auto request = source->next();
    if (!request) break;
    if (n++ == 0) first = request->arrival;
    last = request->arrival;
  }
  const double span = (last - first).seconds();
  if (n < 2 || span <= 0) {
    throw InputError({s.file, "workload.trace", "a trace without a rate",
                      "requests that arrive at different times"});
  }
  return static_cast<double>(n - 1) / span;
}

}  // namespace

Scenario at_rate(const Scenario& scenario, double rate, double seconds, std::int64_t fewest) {
  Scenario s = scenario;
  const std::int64_t count = std::max<std::int64_t>(fewest, std::llround(rate * seconds));
  s.workload.max_concurrency = 0;
  if (s.workload.generated()) {
    s.workload.request_rate = rate;
    s.workload.num_prompts = count;
    s.workload.limit = 0;
  } else {
    limit_requests(s, count);
    s.workload.rate_scale = rate / native_rate(s, count);
  }
  return s;
}

Scenario all_at_once(const Scenario& scenario, std::int64_t requests) {
  Scenario s = scenario;
  s.workload.max_concurrency = 0;
  if (s.workload.generated()) {
    s.workload.request_rate = std::numeric_limits<double>::infinity();
    s.workload.num_prompts = requests;
    s.workload.limit = 0;
  } else {
    limit_requests(s, requests);
    s.workload.rate_scale = 1e9;
  }
  return s;
}

}  // namespace headway::kernels
