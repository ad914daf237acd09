#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/dtype.h"
#include "sim/cost/textbook.h"
#include "sim/hardware/gpu_spec.h"
#include "sim/model/model_spec.h"

namespace headway {

struct RooflineQuestion {
  ModelSpec model;
  GpuSpec gpu;
  Precision precision;
  std::int32_t tensor_parallel_size = 1;
  std::int64_t context_tokens = 1024;  // of each sequence that generates
  std::int64_t prompt_tokens = 1024;   // of each prompt that is prefilled
  std::vector<std::int64_t> batches = {1, 16, 64, 256};
};

// What an operator waits for; messages between GPUs wait for the link.
enum class Bound { kMemory, kCompute, kLink };
const char* bound_name(Bound bound);  // "memory", "compute", "link"

// One operator of a pass on one GPU, all its calls together.
struct OperatorRow {
  std::string layers;  // the kind of layer it belongs to; "" = once a pass
  std::string name;    // "gate_up"
  std::int32_t count = 0;
  double flops = 0;
  double weight_bytes = 0, kv_bytes = 0, activation_bytes = 0;
  double link_bytes = 0;
  double peak_flops = 0;  // FLOP/s that its operands run at
  double time_s = 0;      // at its roofline, or on the link
  Bound bound = Bound::kMemory;
  std::string formula;  // of one call, with the numbers put in

  double bytes() const { return weight_bytes + kv_bytes + activation_bytes; }
  double intensity() const { return bytes() > 0 ? flops / bytes() : 0; }
};

struct LayerSum {
  std::string layers;
  std::int32_t count = 0;  // layers of that kind
  double flops = 0, bytes = 0, time_s = 0;
};

// A step: `batch` prompts read, or a token generated for each of `batch` sequences.
struct PassReport {
  bool prefill = false;
  std::int64_t batch = 0, tokens = 0;  // tokens: of each sequence, new ones
  std::vector<OperatorRow> operators;
  std::vector<LayerSum> layers;
  double flops = 0, bytes = 0, time_s = 0;

  std::string name() const;  // "prefill of 1 x 1024 tokens", "generation, B = 64"
};

struct SweepRow {
  BatchPoint bound;  // of memory alone, on one GPU
  Fit fit = Fit::kYes;
  double operators_s = 0;  // the sum of all operators' rooflines

  double operators_tokens_per_s() const { return bound.batch / operators_s; }
};

struct RooflineReport {
  RooflineQuestion question;
  std::int64_t parameters = 0;         // all of them
  std::int64_t matrix_parameters = 0;  // norms and biases left out
  std::int64_t active_parameters = 0;  // of a token
  double kv_bytes_per_sequence = 0;    // of context_tokens, on one GPU
  PassReport prefill;
  std::vector<PassReport> generation;  // by batch
  std::vector<SweepRow> sweep;         // by batch
  std::vector<SweepRow> curve;         // finer, for the picture
  std::int64_t largest_batch = 0;      // that fits; 0 = the weights do not
};

// InputError when the model does not divide over the GPUs.
RooflineReport study_roofline(const RooflineQuestion& question);

}  // namespace headway
