#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/request.h"

namespace headway {

// Consecutive tokens of one named text. Two tokens of prompts are equal (token_at) exactly when both
// the text and the place in it are.
struct PromptRun {
  std::uint64_t text = 0;
  std::int32_t from = 0;    // the first token's place in it
  std::int32_t tokens = 0;  // >= 1
  bool operator==(const PromptRun&) const = default;
};

// A prompt as the fewest runs that its request names: one for each of its content ids, one for the
// prefix that it shares with its group, one for its session's (or its own) text. So prompts are
// compared without a look at every token. Replaces what `runs` held.
void prompt_runs(const Request& request, std::vector<PromptRun>& runs);

// Whether the request names what its tokens are, so that another can share them.
inline bool names_content(const Request& r) {
  return !r.content_ids.empty() || r.prefix_group >= 0 || r.session_id >= 0;
}

}  // namespace headway
