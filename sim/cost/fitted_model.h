#pragma once

#include <vector>

#include "sim/cost/operators.h"

namespace headway {

// What a measured call asked for. Flops and bytes may be in any unit that is the same for all calls
// of one fit (an operator of unknown widths counts them in tokens).
struct Demand {
  Work work;
  double sequences = 0;  // 0: the operator has no per-sequence term
};

// The shape of an operator's time: floor + (c^3 + m^3)^(1/3) + a term per sequence, where c is the
// compute time and m the memory time. The cube makes a knee as soft as measured ones. Scaling a
// neighbour's time by this instead of by a bare roofline is 4-9 times closer when extrapolating,
// since the launch floor does not scale.
struct FittedModel {
  double floor_us = 0;
  double us_per_flop = 0;
  double us_per_byte = 0;
  double us_per_sequence = 0;

  double us(const Demand& demand) const;
};

// Robust least squares on log error (Levenberg-Marquardt under Huber weights), deterministic. Uses
// an even subsample of large inputs. REQUIRES: equal sizes, at least one point, times > 0.
FittedModel fit_model(const std::vector<Demand>& demands, const std::vector<double>& times_us);

}  // namespace headway
