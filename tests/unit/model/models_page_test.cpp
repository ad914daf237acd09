#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "sim/core/data_files.h"
#include "sim/model/hf_config.h"
#include "sim/model/model_words.h"
#include "sim/model/pruning.h"
#include "tests/support/catch.h"

// docs/models.md is what this test would write; HEADWAY_WRITE_PAGES=1 writes it.
namespace headway {
namespace {

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value), out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ' ';
    out += digits[i];
  }
  return out;
}

std::string shown(double value, int digits) {
  std::ostringstream out;
  out << std::setprecision(digits) << value;
  return out.str();
}

std::string published(std::int64_t count, std::int32_t digits) {
  if (count == 0) return "";
  return digits == 0 ? "the same" : shown(static_cast<double>(count) / 1e9, digits) + " billion";
}

std::string link(const std::string& source) {
  const auto end = source.find("://");
  if (end == std::string::npos) return source;
  std::string name = source.substr(end + 3);
  for (const char* host : {"huggingface.co/", "arxiv.org/abs/"}) {
    if (name.starts_with(host)) name = name.substr(std::string(host).size());
  }
  return "[" + name + "](" + source + ")";
}

// Figures that somebody printed; the test of model_spec compares them.
struct PublishedKv {
  const char* name;
  const char* text;
};
constexpr PublishedKv kPublishedKv[] = {
    {"deepseek-v3", "70.272 kB ([2505.09343](https://arxiv.org/abs/2505.09343))"},
    {"qwen2.5-72b", "327.680 kB ([2505.09343](https://arxiv.org/abs/2505.09343))"},
    {"llama-3.1-405b", "516.096 kB ([2505.09343](https://arxiv.org/abs/2505.09343))"},
    {"deepseek-v2", "34.6 K elements ([2405.04434](https://arxiv.org/abs/2405.04434))"},
};

std::string models_table() {
  std::ostringstream out;
  out << "| model | parameters | published | active | layers | mixer | MLP | KV bytes a token | "
         "published | KV and state at 32k, MB | source |\n"
      << "|---|---:|---:|---:|---:|---|---|---:|---|---:|---|\n";
  for (const std::string& name : catalogue_names("models")) {
    if (name.starts_with("toy-")) continue;
    const ModelSpec m = load_model(name, ".");
    std::string kv;
    for (const PublishedKv& row : kPublishedKv) {
      if (name == row.name) kv = row.text;
    }
    const double at_32k = kv_bytes(m, DType::kBf16, 32768) / 1e6;
    out << "| " << name << " | " << grouped(parameter_count(m)) << " | "
        << published(m.published_parameters, m.published_digits) << " | "
        << (m.is_moe() ? grouped(active_parameter_count(m)) : "") << " | " << m.num_hidden_layers()
        << " | " << mixer_words(m) << " | " << mlp_words(m) << " | "
        << grouped(std::llround(kv_bytes_per_token(m, DType::kBf16))) << " | " << kv << " | "
        << grouped(std::llround(at_32k)) << " | " << link(m.source) << " |\n";
  }
  return out.str();
}

std::string prunings_table() {
  std::ostringstream out;
  out << "| preset | of | parameters | published | layers | hidden | MLP | mixer | cited, not "
         "simulated | source |\n|---|---|---:|---:|---:|---:|---:|---|---|---|\n";
  for (const PruningPreset& preset : pruning_presets()) {
    const ModelSpec m = with_overrides(load_model(preset.base, "."), "pruning", preset.name);
    std::string cited;
    for (const Citation& c : preset.citations) {
      cited += (cited.empty() ? "" : "; ") + std::string(c.what) + ": " + c.value + " (" +
               link(c.source) + ")";
    }
    out << "| " << preset.name << " | " << preset.base << " | " << grouped(parameter_count(m))
        << " | " << published(m.published_parameters, m.published_digits) << " | "
        << m.num_hidden_layers() << " | " << m.hidden_size << " | " << mlp_words(m) << " | "
        << mixer_words(m) << " | " << cited << " | " << link(preset.source) << " |\n";
  }
  return out.str();
}

std::string page() {
  return R"(# The catalogue of models

Written by `HEADWAY_WRITE_PAGES=1 build/headway_tests "the page of models is up to date"`; the same
test fails when this page no longer says what the code does. `headway list models` and
`headway list prunings` print the same figures.

**Parameters** are counted from the layers of a model's config (sim/model/model_spec.cpp).
*Published* says `the same` where the tensors of the published checkpoint add up to exactly that
number, as their safetensors headers or those who loaded them report it: quantised checkpoints by
what they unpack to, of multi-modal models the language model, without layers of multi-token
prediction. A rounded number is the model card's or the paper's, and the count rounds to it. Where
it is empty, others count something else, and a test accounts for the difference. *Active* is what
takes part in one token's pass.

**KV bytes a token** is what one more token costs a long sequence in bf16: windows and states do not
grow. Both count in the column at 32 768 tokens. Of DeepSeek-V4 the compressed entries, windows and
index keys are counted, its hyper-connections are not.

**Mixers**: MHA, GQA and MQA with heads of queries / of keys and values x their width; MLA with
heads, latent + RoPE part; the compression (`4:1`) and the `top` entries of sparse attention; heads
x key x value width of recurrent states. **MLPs**: their width; of experts `chosen of all x width +
shared`. Models whose layers differ say how many are of each kind.

)" + models_table() +
         R"(
## Pruned models

A scenario prunes a model with
`"model": { "base": "llama-3.1-8b", "pruning": "llama-3.1-minitron-4b-width" }`, or with figures of
what remains: `"pruning": { "num_hidden_layers": 24, "intermediate_size": 7168 }`
(sim/model/pruning.h has them all); on the command line, `--set model.pruning=...`. Accuracy is not
simulated. What others measured is cited as they printed it.

)" + prunings_table();
}

TEST_CASE("the page of models is up to date", "[unit]") {
  const std::string path = std::string(HEADWAY_SOURCE_DIR) + "/docs/models.md";
  if (std::getenv("HEADWAY_WRITE_PAGES") != nullptr) std::ofstream(path) << page();
  std::ifstream file(path);
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  INFO("write it anew: HEADWAY_WRITE_PAGES=1 and this test");
  CHECK((found == page()));  // both are long
}

}  // namespace
}  // namespace headway
