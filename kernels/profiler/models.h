#pragma once

#include <string>
#include <vector>

#include "sim/cost/operators.h"
#include "sim/model/model_spec.h"

namespace headway::kernels {

// A model whose widths a grid covers, on so many GPUs.
struct ProfiledModel {
  ModelSpec spec;
  RankOperators rank;  // of one GPU
  std::string label;   // "llama-3.1-70b tp 4"
};

// "llama-3.1-8b", "llama-3.1-70b:tp4", a config.json or its folder. InputError with the nearest
// name.
ProfiledModel profiled_model(const std::string& name);

// What is profiled when no model is named: five shapes of models in use, or the two toys on a CPU.
// A quick grid takes the first of a GPU's.
std::vector<std::string> default_models(const std::string& device_kind, bool quick);

}  // namespace headway::kernels
