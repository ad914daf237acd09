#pragma once

// Internal to scenario/: looks up the model, GPU, profile and trace that a document names.

#include "sim/scenario/field.h"

namespace headway {

// Fills in scenario.model and .gpu; turns relative paths into absolute ones, from `base_folder`.
// InputError at the key's place for what is neither in a catalogue nor on disk.
void resolve_names(const Document& document, const std::string& base_folder, Scenario& scenario);

}  // namespace headway
