#pragma once

#include <memory>

#include "sim/core/errors.h"
#include "sim/workload/request_source.h"

namespace headway {

// The same requests, some of which have to have a fact. Looks through those that come first (at most
// kLookAhead, which are kept meanwhile) before it gives any; InputError of those parts when the source
// ends without one, here or, if it is longer, from next().
std::unique_ptr<RequestSource> with_needed_fact(std::unique_ptr<RequestSource> source,
                                                bool (*has_fact)(const Request&),
                                                InputError::Parts fault);
inline constexpr std::size_t kLookAhead = 10'000;

}  // namespace headway
