#pragma once

#include <string>
#include <vector>

#include "sim/scenario/parse.h"

namespace headway {

// One setting of a comparison: what to assign, and how to call it.
struct Variant {
  std::string label;  // "orca", or "engine.scheduler=orca, seed=2" where several keys vary
  std::vector<Assignment> assignments;
};

// "KEY=V1,V2,..." texts to every combination, the first key changing slowest. Commas inside
// quotes, brackets and braces do not separate. InputError: no "=", an empty value, a key twice.
std::vector<Variant> make_variants(const std::vector<std::string>& vary);

}  // namespace headway
