#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "sim/metrics/slo.h"

namespace headway {

// Requests that have limits of their own: those of a tenant, of a range of priorities, or both.
struct SloClass {
  std::string name;
  std::optional<std::int32_t> tenant = {};
  std::int32_t first_priority = std::numeric_limits<std::int32_t>::min();
  std::int32_t last_priority = std::numeric_limits<std::int32_t>::max();  // included
  SloLimits limits = {};

  bool holds(const RequestRecord& r) const {
    return (!tenant || *tenant == r.tenant) && first_priority <= r.priority &&
           r.priority <= last_priority;
  }
};

// A request is of the first class that holds it; their number if none does.
inline std::size_t class_of(const RequestRecord& r, std::span<const SloClass> classes) {
  std::size_t i = 0;
  while (i < classes.size() && !classes[i].holds(r)) ++i;
  return i;
}

// What applies to a request: its class's limits, or those of the others.
inline const SloLimits& limits_of(const RequestRecord& r, const SloLimits& others,
                                  std::span<const SloClass> classes) {
  const std::size_t number = class_of(r, classes);
  return number < classes.size() ? classes[number].limits : others;
}

}  // namespace headway
