#include "sim/workload/prompt_runs.h"

#include <algorithm>

#include "sim/core/hash.h"

namespace headway {
namespace {

std::uint64_t text_of(std::string_view kind, std::uint64_t id) {
  return combine64(hash_name(kind), id);
}

}  // namespace

// The order of precedence is token_at()'s.
void prompt_runs(const Request& r, std::vector<PromptRun>& runs) {
  runs.clear();
  std::int32_t at = 0;
  if (r.content_granularity > 0) {
    for (const std::uint64_t id : r.content_ids) {
      if (at >= r.prompt_tokens) break;
      const std::int32_t tokens = std::min(r.content_granularity, r.prompt_tokens - at);
      runs.push_back({text_of(r.content_granularity == 1 ? "token" : "content", id), 0, tokens});
      at += tokens;
    }
  }
  const auto add_until = [&](std::int32_t end, std::string_view kind, std::uint64_t id) {
    if (end <= at) return;
    runs.push_back({text_of(kind, id), at, end - at});
    at = end;
  };
  if (r.prefix_group >= 0) {
    add_until(std::min(r.prefix_tokens, r.prompt_tokens), "group",
              static_cast<std::uint64_t>(r.prefix_group));
  }
  if (r.session_id >= 0) {
    add_until(r.prompt_tokens, "session", static_cast<std::uint64_t>(r.session_id));
  } else {
    add_until(r.prompt_tokens, "request", r.id);
  }
}

}  // namespace headway
