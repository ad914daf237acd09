// Layers, MLP width, heads and hidden width taken out of a model: what is left to read.
#include "sim/core/number_text.h"
#include "sim/cost/textbook.h"
#include "sim/model/hf_config.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

struct Cut {
  const char* name;
  std::vector<Setting> settings;
};

std::vector<Cut> cuts() {
  return {{"none", {}},
          {"half the layers", {{"num_hidden_layers", "16"}}},
          {"MLP width 14336 -> 9216", {{"intermediate_size", "9216"}}},
          {"8 -> 4 key/value heads", {{"num_key_value_heads", "4"}}},
          {"hidden 4096 -> 3072, MLP -> 9216",
           {{"hidden_size", "3072"}, {"intermediate_size", "9216"}}}};
}

}  // namespace

DemoAnswer run_pruning_demo(const std::string& name) {
  const Scenario s = lecture_scenario(name);
  const double S = s.workload.input_len.value;
  DemoTable table{"",
                  {{"taken out", "parameters", "share left", "KV a sequence", "ms a token, B = 1",
                    "times faster", "largest B", "tokens/s there"}}};
  const BatchPoint base = textbook_batch(s.model, s.gpu, s.precision, 1, S);
  std::string answer;
  double best = 0;
  for (const Cut& cut : cuts()) {
    ModelSpec model = s.model;
    for (const Setting& set : cut.settings) model = with_overrides(model, set.key, set.value);
    const BatchPoint one = textbook_batch(model, s.gpu, s.precision, 1, S);
    const std::int64_t most = largest_batch(model, s.gpu, s.precision, S);
    const BatchPoint full = textbook_batch(model, s.gpu, s.precision, static_cast<double>(most), S);
    const double faster = base.latency_s / one.latency_s;
    const std::string share = fixed(100 * one.weight_bytes / base.weight_bytes, 1) + " %";
    table.rows.push_back({cut.name, grouped(matrix_parameter_count(model)), share,
                          bytes_text(one.kv_bytes), fixed(one.latency_s * 1e3, 3), fixed(faster, 2),
                          grouped(most), fixed(full.tokens_per_s, 0)});
    if (faster > best && !cut.settings.empty()) {
      best = faster;
      answer = std::string("Of these cuts \"") + cut.name + "\" is the fastest: with " + share +
               " of the parameters left a token takes " + fixed(one.latency_s * 1e3, 3) +
               " instead of " + fixed(base.latency_s * 1e3, 3) + " ms, " + fixed(faster, 2) +
               " times as fast, for what is not stored is not read.";
    }
  }
  DemoAnswer demo;
  demo.setup = s.model.name + " on " + s.gpu_name + ", " + fixed(S, 0) +
               " tokens a sequence. (What is lost in quality is not computed here.)";
  demo.tables = {table};
  demo.answer = answer;
  return demo;
}

}  // namespace headway
