#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/cost/profile.h"

namespace headway {

// Leave-one-out error of one table: each point is priced as if it had not been measured.
struct AccuracyRow {
  std::string op;
  std::string variant;       // "kv=bf16 head_dim=128 window=0"
  std::string held_out;      // point: between others on its axes; edge: the last one of an axis
                             // (extrapolated); site: with all points of its widths
  std::size_t points = 0;    // that were looked at
  double median_percent = 0; // of |predicted / measured - 1|
  double p90_percent = 0;
  double bias_percent = 0;   // median of predicted / measured - 1
};
using AccuracyReport = std::vector<AccuracyRow>;

// All tables that a cost model asks, in the profile's order; an even subsample of at most
// `max_points` rows a table. Outliers are neither asked nor used.
AccuracyReport profile_accuracy(const Profile& profile, std::size_t max_points = 400);

// One line a row under a heading, columns aligned.
std::string format_accuracy(const AccuracyReport& report);

}  // namespace headway
