#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace headway::kernels {

// How hard the engine is driven, as a share of the most requests a second that it finishes.
struct Regime {
  const char* name;
  double load;
  bool below_knee;
  double
      length;  // of its runs, relative to the others': few requests a second take longer to average
};
inline constexpr Regime kRegimes[] = {{"idle", 0.15, true, 1.3},
                                      {"half", 0.5, true, 1.1},
                                      {"knee", 0.85, false, 0.9},
                                      {"overload", 1.3, false, 0.7}};

// The scenario's requests at that rate (a second, on average) for about so long, at least `fewest`
// of them. A generator keeps its arrival process; a trace is replayed faster or slower.
Scenario at_rate(const Scenario& scenario, double rate, double seconds, std::int64_t fewest);

// All at once, for the capacity.
Scenario all_at_once(const Scenario& scenario, std::int64_t requests);

}  // namespace headway::kernels
