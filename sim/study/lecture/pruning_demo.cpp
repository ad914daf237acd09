// Published ways to cut a model down, as transforms of it: what is left to store and to read.
#include "sim/core/number_text.h"
#include "sim/cost/textbook.h"
#include "sim/model/pruning.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

struct Cut {
  std::string name;
  Pruning pruning;
};

// One kind of part at a time, then what was published of this model.
std::vector<Cut> cuts_of(const ModelSpec& model) {
  const LayerSpec& layer = model.layers.front();
  std::vector<Cut> cuts(4);
  cuts[0] = {"half of the layers", {}};
  cuts[0].pruning.num_hidden_layers = model.num_hidden_layers() / 2;
  cuts[1] = {"half of the MLP's width", {}};
  cuts[1].pruning.intermediate_size = layer.mlp.intermediate / 2;
  cuts[2] = {"half of the heads", {}};
  cuts[2].pruning.num_attention_heads = layer.mixer.heads / 2;
  cuts[2].pruning.num_key_value_heads = layer.mixer.kv_heads / 2;
  cuts[3] = {"half of the key/value heads", {}};
  cuts[3].pruning.num_key_value_heads = layer.mixer.kv_heads / 2;
  for (const PruningPreset& preset : pruning_presets()) {
    if (preset.base != model.name) continue;
    Pruning pruning = preset.figures;
    pruning.preset = preset.name;
    cuts.push_back({preset.name, pruning});
  }
  return cuts;
}

}  // namespace

DemoAnswer run_pruning_demo(const std::string& name) {
  const Scenario s = lecture_scenario(name);
  const double S = s.workload.input_len.value;
  DemoTable table{"",
                  {{"taken out", "parameters", "left", "KV a sequence", "ms a token, B = 1",
                    "times as fast", "largest B", "tokens/s there"}}};
  const BatchPoint base = textbook_batch(s.model, s.gpu, s.precision, 1, S);
  std::string answer;
  double best = 0;
  std::vector<Cut> cuts = cuts_of(s.model);
  cuts.insert(cuts.begin(), {"nothing", {}});
  for (const Cut& cut : cuts) {
    const bool whole = &cut == &cuts.front();
    const ModelSpec model = whole ? s.model : prune(s.model, cut.pruning, "");
    const BatchPoint one = textbook_batch(model, s.gpu, s.precision, 1, S);
    const std::int64_t most = largest_batch(model, s.gpu, s.precision, S);
    const BatchPoint full = textbook_batch(model, s.gpu, s.precision, static_cast<double>(most), S);
    const double faster = base.latency_s / one.latency_s;
    const std::string share = fixed(100 * one.weight_bytes / base.weight_bytes, 1) + " %";
    const std::string ms = fixed(one.latency_s * 1e3, 3);
    table.rows.push_back({cut.name, grouped(parameter_count(model)), share,
                          bytes_text(one.kv_bytes), ms, fixed(faster, 2), grouped(most),
                          fixed(full.tokens_per_s, 0)});
    if (whole || faster <= best) continue;
    best = faster;
    answer = "The fastest of these cuts, \"" + cut.name + "\", leaves " + share +
             " of the weights and makes a token in " + ms + " instead of " +
             fixed(base.latency_s * 1e3, 3) + " ms, " + fixed(faster, 2) +
             " times as fast: what is not stored is not read.";
  }
  DemoAnswer demo;
  demo.setup =
      s.model.name + " on " + s.gpu_name + ", " + fixed(S, 0) +
      " tokens a sequence; the last rows are published models. (What is lost in quality is not "
      "computed here.)";
  demo.tables = {table};
  demo.answer = answer;
  return demo;
}

}  // namespace headway
