#include "sim/kv/same_tokens.h"

#include <algorithm>

namespace headway {
namespace {

// Where a position's identity comes from, as token_at decides it.
enum class Origin : std::uint8_t { kContent, kOutput, kGroup, kSession, kRequest };

struct Stretch {
  Origin origin = Origin::kRequest;
  std::uint64_t id = 0;  // equal ids of one origin: equal tokens at equal positions
  std::int32_t end = 0;  // first position that may be of another kind
};

// The stretch that `position` lies in.
Stretch stretch_at(const Request& r, std::int32_t position, std::int32_t to) {
  const std::int32_t grain = r.content_granularity;
  const bool prompt = position < r.prompt_tokens;
  const std::int32_t section_end = prompt ? std::min(to, r.prompt_tokens) : to;
  if (prompt && grain > 0) {
    const auto index = static_cast<std::size_t>(position / grain);
    if (index < r.content_ids.size()) {
      const std::int64_t next = static_cast<std::int64_t>(index + 1) * grain;
      return {Origin::kContent, r.content_ids[index],
              static_cast<std::int32_t>(std::min<std::int64_t>(section_end, next))};
    }
  }
  if (!prompt) {
    const auto index = static_cast<std::size_t>(position - r.prompt_tokens);
    if (index < r.output_ids.size()) return {Origin::kOutput, r.output_ids[index], position + 1};
  }
  if (r.prefix_group >= 0 && position < r.prefix_tokens) {
    return {Origin::kGroup, static_cast<std::uint64_t>(r.prefix_group),
            std::min(section_end, r.prefix_tokens)};
  }
  if (r.session_id >= 0) {
    return {Origin::kSession, static_cast<std::uint64_t>(r.session_id), section_end};
  }
  return {Origin::kRequest, r.id, section_end};
}

}  // namespace

std::int32_t same_tokens(const Request& a, const Request& b, std::int32_t from, std::int32_t to) {
  std::int32_t position = from;
  while (position < to) {
    const Stretch x = stretch_at(a, position, to);
    const Stretch y = stretch_at(b, position, to);
    const bool same_grain =
        x.origin != Origin::kContent || a.content_granularity == b.content_granularity;
    if (x.origin == y.origin && x.id == y.id && same_grain) {
      position = std::min(x.end, y.end);
    } else if (token_at(a, position) == token_at(b, position)) {
      ++position;  // a recorded id under two descriptions
    } else {
      break;
    }
  }
  return position - from;
}

}  // namespace headway
