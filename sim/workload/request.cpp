#include "sim/workload/request.h"

#include "sim/core/hash.h"

namespace headway {

std::uint64_t token_at(const Request& r, std::int32_t position) {
  const auto p = static_cast<std::uint64_t>(position);
  if (position < r.prompt_tokens && r.content_granularity > 0) {
    const auto index = static_cast<std::size_t>(position / r.content_granularity);
    if (index < r.content_ids.size()) {
      if (r.content_granularity == 1) return r.content_ids[index];
      const auto within = static_cast<std::uint64_t>(position % r.content_granularity);
      return combine64(hash_name("content") ^ r.content_ids[index], within);
    }
  }
  if (position >= r.prompt_tokens) {
    const auto index = static_cast<std::size_t>(position - r.prompt_tokens);
    if (index < r.output_ids.size()) return r.output_ids[index];
  }
  if (r.prefix_group >= 0 && position < r.prefix_tokens) {
    return combine64(hash_name("group") ^ static_cast<std::uint64_t>(r.prefix_group), p);
  }
  // Every turn of a session is the same growing text, so position alone names the token.
  if (r.session_id >= 0) {
    return combine64(hash_name("session") ^ static_cast<std::uint64_t>(r.session_id), p);
  }
  return combine64(hash_name("request") ^ r.id, p);
}

}  // namespace headway
