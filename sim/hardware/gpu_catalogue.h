#pragma once

#include <string>
#include <vector>

#include "sim/hardware/gpu_spec.h"

namespace headway {

// A GPU of the catalogue. InputError at `file`: `place` with the nearest name.
GpuSpec load_gpu(const std::string& name, const std::string& file = "",
                 const std::string& place = "gpu");

// The text of a catalogue file: an object with the figures of GpuSpec by their names. All are
// required, none else is allowed; 0 means "has none" where GpuSpec says so.
GpuSpec parse_gpu(const std::string& text, const std::string& file);

// Replaces one figure by its name ("memory_bytes", "price_per_hour"), for `gpu: {base, ...}`.
// InputError at `file`: `place`.KEY for an unknown name or a value that cannot be.
void override_gpu(GpuSpec& gpu, const std::string& key, double value, const std::string& file,
                  const std::string& place = "gpu");
std::vector<std::string> gpu_figure_names();

}  // namespace headway
