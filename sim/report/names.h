#pragma once

#include <array>
#include <string_view>

#include "sim/cost/cost_model.h"
#include "sim/metrics/observer.h"
#include "sim/metrics/verdict.h"

namespace headway {

// Tags, as they stand in files, and titles, as people read them; in the order of the enums.
inline constexpr std::array<std::string_view, kLatencyParts> kPartTags = {
    "queue", "prefill", "interference", "decode", "preemption", "host", "transfer", "retry"};
inline constexpr std::array<std::string_view, kLatencyParts> kPartTitles = {
    "Queueing",   "Own prefill", "Others' prefill", "Decode",
    "Preemption", "Host",        "KV transfer",     "Lost with a replica"};
inline constexpr std::array<std::string_view, kCoverageKinds> kCoverageTags = {
    "measured", "interpolated", "extrapolated", "roofline"};
inline constexpr std::array<std::string_view, kOpClasses> kClassTitles = {"Linear layers",
                                                                          "Prefill attention",
                                                                          "Decode attention",
                                                                          "LM head and sampler",
                                                                          "Elementwise",
                                                                          "Communication",
                                                                          "Other"};
inline constexpr std::array<std::string_view, 3> kLoadNames = {"stable", "backlogged",
                                                               "overloaded"};

inline std::string_view load_name(Load load) { return kLoadNames[static_cast<std::size_t>(load)]; }

}  // namespace headway
