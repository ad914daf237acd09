#include "sim/kv/block_hash.h"

#include <algorithm>

#include "sim/core/hash.h"

namespace headway {
namespace {

// A run of tokens that one source names.
struct Source {
  std::uint64_t key = 0;
  std::int32_t place = 0;   // of the block's first token within the source
  std::int32_t length = 0;  // tokens the source still covers from there; 0 = name them one by one
};

// Mirrors the order in which token_at() asks the sources.
Source source_at(const Request& r, std::int32_t position) {
  constexpr std::int32_t kEndless = INT32_MAX;
  const std::int32_t g = r.content_granularity;
  const auto named = static_cast<std::int64_t>(g) * static_cast<std::int64_t>(r.content_ids.size());
  const auto content_end =
      static_cast<std::int32_t>(std::min<std::int64_t>(named, r.prompt_tokens));
  if (g > 0 && position < content_end) {
    if (g == 1) return {};
    const auto id = r.content_ids[static_cast<std::size_t>(position / g)];
    const std::int32_t within = position % g;
    return {hash_name("content block") ^ id, within, std::min(g - within, content_end - position)};
  }
  if (!r.output_ids.empty()) return {};
  if (r.prefix_group >= 0 && position < r.prefix_tokens) {
    return {hash_name("group block") ^ static_cast<std::uint64_t>(r.prefix_group), position,
            r.prefix_tokens - position};
  }
  if (r.session_id >= 0) {
    return {hash_name("session block") ^ static_cast<std::uint64_t>(r.session_id), position,
            kEndless};
  }
  return {hash_name("request block") ^ r.id, position, kEndless};
}

}  // namespace

std::uint64_t block_content(const Request& request, std::int32_t first_token,
                            std::int32_t block_size) {
  const Source source = source_at(request, first_token);
  if (source.length >= block_size) {
    return combine64(source.key, static_cast<std::uint64_t>(source.place));
  }
  std::uint64_t hash = hash_name("mixed block");
  for (std::int32_t i = 0; i < block_size; ++i) {
    hash = combine64(hash, token_at(request, first_token + i));
  }
  return hash;
}

std::uint64_t block_content(const Request& request, std::int32_t sample, std::int32_t first_token,
                            std::int32_t block_size) {
  const std::uint64_t content = block_content(request, first_token, block_size);
  const bool holds_answer = first_token + block_size > request.prompt_tokens;
  if (!holds_answer || sample == 0) return content;
  return combine64(content, static_cast<std::uint64_t>(sample));
}

std::uint64_t chain_block_hash(std::uint64_t previous, std::uint64_t content) {
  return combine64(previous, content);
}

}  // namespace headway
