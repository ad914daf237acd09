#pragma once

#include <array>
#include <string_view>

#include "sim/metrics/step_facts.h"

namespace headway {

// What held a waiting line back, in the order of HeldBack: as tags of files, and as people read them.
inline constexpr std::array<std::string_view, kHeldBackCauses> kCauseTags = {
    "step_under_way", "seats", "token_budget", "kv_blocks", "policy", "unsaid"};
inline constexpr std::array<std::string_view, kHeldBackCauses> kCauseTexts = {
    "a step was under way",        "every seat was taken",
    "the step's tokens were given out", "too little KV was free",
    "the policy let nobody in",    "not said"};

}  // namespace headway
