// The batch is in the intensity of the MLP and not in that of attention: every sequence shares the
// MLP's weights and has a KV cache of its own.
#include "sim/core/number_text.h"
#include "sim/cost/textbook.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

constexpr int kBatches[] = {1, 16, 64, 256, 1024};

struct Intensities {
  double mlp, attention;
};

}  // namespace

DemoAnswer run_batching_demo(const std::string& name) {
  const Scenario s = lecture_scenario(name);
  const double D = s.model.hidden_size, F = s.model.layers.front().mlp.intermediate;
  const double S = s.workload.input_len.value;
  // Prefill: S tokens over themselves. Generation: one token over S.
  const auto of = [&](double B, double T) {
    return Intensities{intensity(textbook_mlp(B, T, D, F)),
                       intensity(textbook_attention(B, S, T, D))};
  };
  const auto side = [&](double value) {
    return significant(value, 4) + (value >= ridge(s.gpu) ? " c" : " m");
  };
  DemoTable table{
      "FLOPs a byte; c: above the ridge of " + fixed(ridge(s.gpu), 0) +
          ", bound by compute; m: below, by memory",
      {{"B", "MLP, prefill", "attention, prefill", "MLP, generation", "attention, generation"}}};
  for (const int B : kBatches) {
    const Intensities prefill = of(B, S), generation = of(B, 1);
    table.rows.push_back({std::to_string(B), side(prefill.mlp), side(prefill.attention),
                          side(generation.mlp), side(generation.attention)});
  }
  const int first = kBatches[0], last = kBatches[std::size(kBatches) - 1];
  const Intensities low = of(first, 1), high = of(last, 1);
  const bool same = significant(low.attention, 4) == significant(high.attention, 4);
  DemoAnswer demo;
  demo.setup = "One layer of " + s.model.name + " on " + s.gpu_name +
               ", prompts of S = " + fixed(S, 0) + " tokens.";
  demo.tables = {table};
  demo.answer = "From B = " + std::to_string(first) + " to " + std::to_string(last) +
                " generation's MLP goes from " + significant(low.mlp, 4) + " to " +
                significant(high.mlp, 4) + " FLOPs a byte and its attention " +
                (same ? "stays at " : "goes from " + significant(low.attention, 4) + " to ") +
                significant(high.attention, 4) +
                (same ? ": a batch shares the weights, and no sequence shares its KV." : ".");
  return demo;
}

}  // namespace headway
