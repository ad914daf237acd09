#include "sim/study/roofline_study.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sim/core/errors.h"
#include "sim/cost/operator_list.h"
#include "sim/model/layer_split.h"

namespace headway {
namespace {

constexpr double kSecondsPerUs = 1e-6;
constexpr double kCurveStep = 1.3;   // from one batch of the curve to the next
constexpr double kBeyondMemory = 8;  // the curve goes on so far
constexpr std::int64_t kLongestCurve = 1'000'000;

// The model as one GPU holds it.
ModelSpec share_of(const ModelSpec& model, std::int32_t tensor_parallel) {
  ModelSpec own = model;
  for (LayerSpec& layer : own.layers) layer = split_layer(layer, tensor_parallel, tensor_parallel);
  own.vocab_size = (model.vocab_size + tensor_parallel - 1) / tensor_parallel;
  return own;
}

StepShape prompts(std::int32_t batch, std::int32_t tokens) {
  StepShape shape;
  shape.tokens = batch * tokens;
  shape.prefill.assign(static_cast<std::size_t>(batch), {tokens, 0});
  shape.sampled_sequences = shape.scheduled_sequences = batch;
  return shape;
}

StepShape answers(std::int32_t batch, std::int32_t context) {
  StepShape shape;
  shape.tokens = shape.decode_sequences = shape.decode_query_tokens = batch;
  shape.sampled_sequences = shape.scheduled_sequences = batch;
  shape.decode_kv_tokens = std::int64_t{batch} * context;
  shape.decode_kv_max = context;
  return shape;
}

std::string formula_text(const Operator& op) {
  std::string text;
  for (const Formula& f : formulas(op)) {
    std::string what = f.what;
    std::replace(what.begin(), what.end(), '_', ' ');
    char value[32];
    std::snprintf(value, sizeof value, "%.15g", f.value);
    text += (text.empty() ? "" : "; ") + what + " " + f.symbols + " = " + f.numbers + " = " + value;
  }
  return text;
}

// A message between GPUs takes its time on the link; everything else the longer of its two times.
double time_of(const Operator& op, const GpuSpec& gpu) {
  if (op.op != OpClass::kCommunication) return operator_us(op, gpu) * kSecondsPerUs;
  if (gpu.link_bandwidth <= 0) return 0;
  return op.link_bytes / gpu.link_bandwidth + gpu.link_latency_us * kSecondsPerUs;
}

OperatorRow row_of(const ListedOperator& listed, const GpuSpec& gpu) {
  const Operator& op = listed.work;
  OperatorRow row;
  row.layers = listed.layer;
  row.name = listed.name;
  row.count = listed.count;
  row.flops = listed.count * op.flops;
  row.weight_bytes = listed.count * op.weight_bytes;
  row.kv_bytes = listed.count * op.kv_bytes;
  row.activation_bytes = listed.count * op.activation_bytes;
  row.link_bytes = listed.count * op.link_bytes;
  row.peak_flops = gpu.flops(op.weights, op.activations);
  const RooflineTimes times = operator_times(op, gpu);
  row.bound = op.op == OpClass::kCommunication      ? Bound::kLink
              : times.compute_us >= times.memory_us ? Bound::kCompute
                                                    : Bound::kMemory;
  row.time_s = listed.count * time_of(op, gpu);
  row.formula = formula_text(op);
  return row;
}

void add_to_sum(const OperatorRow& row, const RankOperators& ops, std::vector<LayerSum>& sums) {
  if (sums.empty() || sums.back().layers != row.layers) {
    std::int32_t layers = 0;
    for (const RankLayer& kind : ops.kinds) {
      if (kind.name == row.layers) layers = kind.count;
    }
    sums.push_back({row.layers, layers});
  }
  sums.back().flops += row.flops;
  sums.back().bytes += row.bytes();
  sums.back().time_s += row.time_s;
}

PassReport report_pass(const RooflineQuestion& q, const RankOperators& ops,
                       const StepShape& shape) {
  PassReport pass;
  pass.prefill = !shape.prefill.empty();
  pass.batch = shape.scheduled_sequences;
  pass.tokens = shape.tokens / shape.scheduled_sequences;
  for (const ListedOperator& listed : operator_list(ops, shape)) {
    const OperatorRow row = row_of(listed, q.gpu);
    add_to_sum(row, ops, pass.layers);
    pass.flops += row.flops;
    pass.bytes += row.bytes();
    pass.time_s += row.time_s;
    pass.operators.push_back(row);
  }
  return pass;
}

SweepRow sweep_row(const RooflineQuestion& q, const ModelSpec& own, const RankOperators& ops,
                   std::int64_t batch) {
  const auto context = static_cast<std::int32_t>(q.context_tokens);
  SweepRow row;
  row.bound = textbook_batch(own, q.gpu, q.precision, static_cast<double>(batch), context);
  row.fit = fits(row.bound.memory_bytes(), q.gpu);
  for (const ListedOperator& listed :
       operator_list(ops, answers(static_cast<std::int32_t>(batch), context))) {
    row.operators_s += listed.count * time_of(listed.work, q.gpu);
  }
  return row;
}

// From one sequence to some way beyond the memory, and to the largest batch asked for.
std::vector<std::int64_t> curve_batches(const RooflineQuestion& q, std::int64_t largest) {
  const std::int64_t asked = *std::max_element(q.batches.begin(), q.batches.end());
  const double end =
      std::max(static_cast<double>(asked),
               std::min(kBeyondMemory * static_cast<double>(std::max<std::int64_t>(largest, 1)),
                        1.0 * kLongestCurve));
  std::vector<std::int64_t> batches = q.batches;
  if (largest > 0 && static_cast<double>(largest) <= end) batches.push_back(largest);
  for (double batch = 1; batch < end; batch *= kCurveStep) {
    batches.push_back(static_cast<std::int64_t>(std::llround(batch)));
  }
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return batches;
}

}  // namespace

std::string PassReport::name() const {
  return prefill
             ? "prefill of " + std::to_string(batch) + " x " + std::to_string(tokens) + " tokens"
             : "generation, B = " + std::to_string(batch);
}

const char* bound_name(Bound bound) {
  return bound == Bound::kCompute ? "compute" : bound == Bound::kMemory ? "memory" : "link";
}

RooflineReport study_roofline(const RooflineQuestion& q) {
  SIM_CHECK(!q.batches.empty() && q.context_tokens > 0 && q.prompt_tokens > 0);
  const RankOperators ops = rank_operators(q.model, q.precision, q.tensor_parallel_size, 1);
  const ModelSpec own = share_of(q.model, q.tensor_parallel_size);
  const auto context = static_cast<double>(q.context_tokens);
  RooflineReport report;
  report.question = q;
  report.parameters = parameter_count(q.model);
  report.matrix_parameters = matrix_parameter_count(q.model);
  report.active_parameters = active_parameter_count(q.model);
  report.kv_bytes_per_sequence = kv_bytes(own, q.precision.kv, context);
  report.largest_batch = largest_batch(own, q.gpu, q.precision, context);
  report.prefill = report_pass(q, ops, prompts(1, static_cast<std::int32_t>(q.prompt_tokens)));
  for (const std::int64_t batch : q.batches) {
    const StepShape shape =
        answers(static_cast<std::int32_t>(batch), static_cast<std::int32_t>(q.context_tokens));
    report.generation.push_back(report_pass(q, ops, shape));
    report.sweep.push_back(sweep_row(q, own, ops, batch));
  }
  for (const std::int64_t batch : curve_batches(q, report.largest_batch)) {
    report.curve.push_back(sweep_row(q, own, ops, batch));
  }
  return report;
}

}  // namespace headway
