#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace headway {

// Limits at the door of a fleet (cluster/gateway.h). By default there is none.
struct AdmissionOptions {
  std::int64_t max_outstanding = 0;              // let in and not answered, all replicas; 0 = no limit
  std::int64_t max_outstanding_per_replica = 0;  // the same of each; 0 = no limit
  std::optional<std::int64_t> max_queue = {};    // that may wait for a place; unset = no limit
  double max_wait_s = std::numeric_limits<double>::infinity();  // then a request gives up
  // While there is no place: requests less urgent than this (a larger number) are turned away at once.
  std::optional<std::int32_t> shed_priority_above = {};

  bool limits() const { return max_outstanding > 0 || max_outstanding_per_replica > 0; }
};

}  // namespace headway
