#pragma once

#include <string>

namespace headway::kernels {

// The simulator's catalogue name of a GPU by the name its driver gives it ("NVIDIA H200" is
// "h200-sxm"). One that the catalogue does not have: the driver's name in lower case and dashes,
// for which a catalogue file has to be written before a scenario can name it.
std::string catalogue_gpu(const std::string& driver_name);

}  // namespace headway::kernels
