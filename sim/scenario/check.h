#pragma once

#include <functional>
#include <string>

#include "sim/core/errors.h"
#include "sim/scenario/scenario.h"

namespace headway {

// Where a key was written ("line 12: engine.max_num_seqs"), for messages. The key alone will do.
using PlaceOf = std::function<std::string(const std::string& key)>;

// Values that are each valid, but not with one another: this setup cannot be.
class ContradictionError : public InputError {
 public:
  using InputError::InputError;
};

// Replaces "0 = the engine's own default" by that default: max_model_len, batch_size. Idempotent.
void resolve_defaults(Scenario& scenario);

// Rules between keys, which no single row of a table can state. ContradictionError names the key to
// change.
// REQUIRES: names and defaults are resolved.
void check_scenario(const Scenario& scenario, const PlaceOf& place_of);
// Whether the pools' roles go together. REQUIRES: pools are resolved.
void check_roles(const Scenario& scenario, const PlaceOf& place_of);

}  // namespace headway
