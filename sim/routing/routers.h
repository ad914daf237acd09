#pragma once

#include <memory>

#include "sim/routing/router.h"

namespace headway {

std::unique_ptr<Router> make_round_robin(const RouterConfig&);
std::unique_ptr<Router> make_random(const RouterConfig&);
std::unique_ptr<Router> make_least_outstanding(const RouterConfig&);

}  // namespace headway
