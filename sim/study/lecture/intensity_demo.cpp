// FLOPs a byte: of one matrix product as the batch grows, and the ridge of each GPU, above which it
// computes longer than it moves.
#include "sim/core/number_text.h"
#include "sim/cost/textbook.h"
#include "sim/hardware/gpu_catalogue.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

constexpr const char* kGpus[] = {"a100-sxm", "l40s", "h100-sxm", "h200-sxm", "b200-sxm"};

DemoTable ridges() {
  DemoTable table{"The ridge of a GPU: its bf16 peak over its bandwidth",
                  {{"GPU", "TFLOP/s", "TB/s", "ridge"}}};
  for (const char* name : kGpus) {
    const GpuSpec gpu = load_gpu(name);
    table.rows.push_back({name, significant(gpu.flops_bf16 / 1e12, 4),
                          significant(gpu.memory_bandwidth / 1e12, 4), fixed(ridge(gpu), 0)});
  }
  return table;
}

}  // namespace

DemoAnswer run_intensity_demo(const std::string& name) {
  const Scenario s = lecture_scenario(name);
  const double D = s.model.hidden_size, F = s.model.layers.front().mlp.intermediate;
  const double limit = ridge(s.gpu);
  const auto product = [&](int batch) { return textbook_product(batch, D, F); };
  int first_bound = 1;
  while (intensity(product(first_bound)) < limit && first_bound < 100'000) ++first_bound;

  DemoTable table{
      "", {{"B", "GFLOP", "MB moved", "FLOPs a byte", "compute us", "memory us", "bound by"}}};
  for (const int batch : {1, 16, 64, 256, first_bound, 512, 1024}) {
    const Work work = product(batch);
    const bool compute = intensity(work) >= limit;
    table.rows.push_back({std::to_string(batch), significant(work.flops / 1e9, 4),
                          significant(work.bytes / 1e6, 4), significant(intensity(work), 4),
                          significant(work.flops / s.gpu.flops_bf16 * 1e6, 4),
                          significant(work.bytes / s.gpu.memory_bandwidth * 1e6, 4),
                          compute ? "compute" : "memory"});
  }
  DemoAnswer demo;
  demo.setup = "[B, " + fixed(D, 0) + "] x [" + fixed(D, 0) + ", " + fixed(F, 0) +
               "] in bf16, the gate of " + s.model.name + "'s MLP, on one " + s.gpu_name + ".";
  demo.tables = {table, ridges()};
  demo.answer = "At B = 1 the product makes " + significant(intensity(product(1)), 4) +
                " FLOPs a byte where the ridge of " + s.gpu_name + " is " + fixed(limit, 0) +
                ": only from B = " + std::to_string(first_bound) +
                " on does it compute longer than it moves.";
  return demo;
}

}  // namespace headway
