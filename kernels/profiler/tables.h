#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/profiler/session.h"
#include "sim/cost/profile.h"

namespace headway::kernels {

// One table an entry with visited points, in the entries' order (the simulator takes the first that
// fits); probes stand not in it but in its hold-out. `method` is written into each. The variant
// gains the key "impl".
std::vector<ProfileTable> make_tables(const Session& session, const std::string& method,
                                      double noisy_beyond);

// How decode attention over unequal lengths compares with the table's answer for their mean.
HoldOut ragged_holdout(const Session& session, const std::vector<ProfileTable>& tables);

// The table's own time of a call, or what the simulator would make of it between and beyond its
// points. nullopt: no such table, or one without a price.
std::optional<double> table_time_us(const std::vector<ProfileTable>& tables,
                                    const KernelEntry& entry, const std::vector<std::int64_t>& key);

// What an entry is in a profile: its variant with "impl".
Variant table_variant(const KernelEntry& entry);

}  // namespace headway::kernels
