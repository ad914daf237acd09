// One model's layers with the mixers of other architectures: what a sequence keeps, by its length.
#include <array>

#include "sim/core/number_text.h"
#include "sim/cost/textbook.h"
#include "sim/model/hf_config.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

constexpr std::array<double, 4> kContexts{1024, 16384, 131072, 1048576};

struct Architecture {
  const char* name;
  ModelSpec model;
};

template <typename Change>
ModelSpec changed(ModelSpec model, const Change& change) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) change(i, model.layers[i].mixer);
  return model;
}

// DeepSeek-V2's widths: a latent of 512 and 64 dimensions that carry RoPE.
void make_latent(MixerSpec& m) {
  m.kind = MixerKind::kLatentAttention;
  m.kv_heads = m.heads;
  m.kv_lora_rank = 512;
  m.qk_rope_head_dim = 64;
  m.head_dim = m.v_head_dim + m.qk_rope_head_dim;
}

// A state as wide as Mamba-2's defaults at this hidden size: twice its width, 128 numbers each.
void make_state(MixerSpec& m, std::int32_t hidden) {
  m = {};
  m.kind = MixerKind::kMamba2;
  m.state.value_dim = 64;
  m.state.heads = 2 * hidden / m.state.value_dim;
  m.state.groups = 1;
  m.state.key_dim = 128;
  m.state.conv_kernel = 4;
}

std::vector<Architecture> architectures(const ModelSpec& base) {
  const auto all = [&](auto change) {
    return changed(base, [&](std::size_t, MixerSpec& m) { change(m); });
  };
  std::vector<Architecture> list;
  list.push_back({"MHA", all([](MixerSpec& m) { m.kv_heads = m.heads; })});
  list.push_back({"GQA", base});
  list.push_back({"MQA", all([](MixerSpec& m) { m.kv_heads = 1; })});
  list.push_back({"GQA, CLA of 2 layers",
                  changed(base, [](std::size_t i, MixerSpec& m) { m.shares_kv = i % 2 == 1; })});
  list.push_back({"MLA, 512 + 64", all([](MixerSpec& m) { make_latent(m); })});
  list.push_back(
      {"GQA, window 1024, 1 layer in 6 full", changed(base, [](std::size_t i, MixerSpec& m) {
         if (i % 6 != 5) m.window = 1024;
       })});
  list.push_back({"GQA, window 1024 in all layers", all([](MixerSpec& m) { m.window = 1024; })});
  list.push_back({"MLA, 4 tokens an entry (CSA)", all([](MixerSpec& m) {
                    make_latent(m);
                    m.sparse.compression = 4;
                  })});
  list.push_back({"MLA, 128 tokens an entry (HCA)", all([](MixerSpec& m) {
                    make_latent(m);
                    m.sparse.compression = 128;
                  })});
  list.push_back({"state, 1 layer in 4 GQA", changed(base, [&](std::size_t i, MixerSpec& m) {
                    if (i % 4 != 3) make_state(m, base.hidden_size);
                  })});
  list.push_back(
      {"state in all layers", all([&](MixerSpec& m) { make_state(m, base.hidden_size); })});
  return list;
}

constexpr const char* kPublished[] = {"llama-2-13b",        "llama-3.1-8b", "gemma-3-27b",
                                      "gpt-oss-20b",        "deepseek-v2",  "deepseek-v4-flash",
                                      "qwen3-next-80b-a3b", "mamba2-2.7b"};

std::string length_text(double tokens) {
  return tokens >= 1048576 ? fixed(tokens / 1048576, 0) + "M" : fixed(tokens / 1024, 0) + "k";
}

// What each model keeps at the lengths of the heading.
std::vector<std::string> cache_row(const std::string& name, const ModelSpec& model, DType kv) {
  std::vector<std::string> row{name};
  for (const double context : kContexts) row.push_back(bytes_text(kv_bytes(model, kv, context)));
  const double growth = kv_bytes(model, kv, kContexts.back()) / kv_bytes(model, kv, kContexts[0]);
  row.push_back(significant(growth, 4) + " x");
  return row;
}

DemoTable published(DType kv) {
  DemoTable table{"Published models, whatever length they were made for", {{"model"}}};
  for (const double context : kContexts) table.rows[0].push_back(length_text(context));
  table.rows[0].push_back("growth");
  for (const char* name : kPublished)
    table.rows.push_back(cache_row(name, load_model(name, ""), kv));
  return table;
}

}  // namespace

DemoAnswer run_kv_cache_demo(const std::string& name) {
  const Scenario s = lecture_scenario(name);
  const DType kv = s.precision.kv;
  const std::vector<Architecture> list = architectures(s.model);
  const double longest = kContexts.back();
  DemoTable table{
      "What one sequence keeps, and how many sequences of the longest fit beside the weights",
      {{"layers"}}};
  for (const double context : kContexts) table.rows[0].push_back(length_text(context));
  table.rows[0].insert(table.rows[0].end(), {"growth", "B at " + length_text(longest)});
  for (const Architecture& a : list) {
    std::vector<std::string> row = cache_row(a.name, a.model, kv);
    row.push_back(grouped(largest_batch(a.model, s.gpu, s.precision, longest)));
    table.rows.push_back(row);
  }
  const auto cell = [&](std::size_t row) { return table.rows[row][kContexts.size()]; };
  const auto last = table.rows.size() - 1;
  DemoAnswer demo;
  demo.setup = "The " + std::to_string(s.model.num_hidden_layers()) + " layers of " + s.model.name +
               " with the mixers of other architectures, KV in " + dtype_name(kv) + ", on one " +
               s.gpu_name + ".";
  demo.tables = {table, published(kv)};
  demo.answer = "At " + length_text(longest) + " tokens a sequence keeps " + cell(1) +
                " with every head's keys and values, " + cell(2) + " with GQA, " + cell(5) +
                " with MLA, " + cell(6) + " with windows in most layers and " + cell(last) +
                " as a state, which is what it also keeps at " + length_text(kContexts[0]) + " (" +
                table.rows[last][1] + ").";
  return demo;
}

}  // namespace headway
