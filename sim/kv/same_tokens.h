#pragma once

#include <cstdint>

#include "sim/workload/request.h"

namespace headway {

// How many tokens of two requests are the same, in a row, from position `from` on and before `to`.
// Same as comparing token_at position by position, but text that is described by a group, a
// session or a block id is compared a stretch at a time.
std::int32_t same_tokens(const Request& a, const Request& b, std::int32_t from, std::int32_t to);

}  // namespace headway
