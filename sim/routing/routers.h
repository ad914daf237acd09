#pragma once

#include <memory>

#include "sim/routing/router.h"

namespace headway {

std::unique_ptr<Router> make_round_robin(std::uint64_t seed);
std::unique_ptr<Router> make_random(std::uint64_t seed);
std::unique_ptr<Router> make_least_outstanding(std::uint64_t seed);

}  // namespace headway
