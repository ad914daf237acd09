#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload/request_source.h"

namespace headway {

struct LengthSummary {
  double mean = 0, p50 = 0, p90 = 0, p99 = 0;  // percentiles: linear between order statistics
  std::int64_t min = 0, max = 0, total = 0;
};

// What a trace is like, without running it.
struct TraceSummary {
  std::int64_t requests = 0;
  double span_s = 0;  // first to last arrival
  double rate = 0;    // requests per second: (requests - 1) / span; 0 for no span
  double gap_cv = 0;  // standard deviation of the gaps over their mean; 1 = Poisson
  LengthSummary input, output;
  std::int64_t sessions = 0;  // distinct; 0 = none named

  // Of a cache that never forgets, by the traces' block ids: blocks of a prompt that an earlier
  // prompt began with, too. Unset (-1) without ids.
  double prefix_hit_blocks = -1;  // share of all blocks
  double prefix_hit_tokens = -1;  // share of all prompt tokens
};

// Reads the source to its end. Memory grows with the distinct lengths, sessions and blocks only.
TraceSummary summarise(RequestSource& source);

}  // namespace headway
