#pragma once

#include <functional>

namespace headway {

// Where along one axis a requirement stops holding: between `good` and `bad`.
struct Edge {
  enum class Kind { kFound, kNeverMet, kAlwaysMet };
  Kind kind = Kind::kFound;
  double good = 0;  // the last value that was seen to hold; kNeverMet: the lowest (or highest) tried
  double bad = 0;   // the first that was not; kAlwaysMet: the farthest tried
};

struct EdgeOptions {
  double start = 1;         // tried first; above 0
  double farthest = 0;      // on the bad side: no further than here
  double nearest = 0;       // on the good side: no further than here
  double first_factor = 2;  // of the first step away from the start; squared each time
  double tolerance = 0.01;  // stop when the two ends are this close, as a ratio less one
  bool whole = false;       // whole numbers; the tolerance is one
  bool good_is_low = true;  // a request rate; false: a number of replicas
};

// Brackets the edge by steps that grow, then bisects it (in ratio). Finds one edge; whether there are
// others is for the caller to check. `holds` is called once a value at most.
Edge find_edge(const EdgeOptions& options, const std::function<bool(double)>& holds);

}  // namespace headway
