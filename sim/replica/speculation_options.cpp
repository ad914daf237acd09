#include "sim/replica/speculation_options.h"

#include <cmath>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& key, const std::string& found,
                         const std::string& expected) {
  throw InputError({file, "speculation." + key, found, expected});
}

void take_preset(SpeculationOptions& o, const std::string& file) {
  std::vector<std::string> names;
  for (const AcceptancePreset& preset : acceptance_presets()) {
    names.emplace_back(preset.name);
    if (o.acceptance_preset != preset.name) continue;
    o.acceptance = preset.rates;
    // A single published position is a vector of one; keep it from being read as a rate for all.
    if (o.acceptance.size() == 1) o.acceptance.push_back(0.0);
    if (o.method.empty()) o.method = preset.method;
    if (o.num_speculative_tokens == 0) {
      o.num_speculative_tokens = static_cast<std::int32_t>(preset.rates.size());
    }
    return;
  }
  refuse(file, "acceptance_preset", "\"" + o.acceptance_preset + "\"",
         one_of(o.acceptance_preset, names));
}

void check_rates(const std::vector<double>& rates, const std::string& file) {
  double previous = 1.0;
  for (double rate : rates) {
    if (!(rate >= 0.0 && rate <= 1.0)) {
      refuse(file, "acceptance", std::to_string(rate), "rates from 0 to 1");
    }
    if (rate > previous) {
      refuse(file, "acceptance", "a rate above the one before it",
             "unconditional rates, which never increase with the position");
    }
    previous = rate;
  }
}

void check_batch_table(const SpeculationOptions& o, const std::string& file) {
  std::int32_t last = 0;
  for (const auto& [first, end, k] : o.num_speculative_tokens_per_batch_size) {
    if (first <= last || end < first || k < 0 || k > o.num_speculative_tokens) {
      refuse(file, "num_speculative_tokens_per_batch_size",
             "[" + std::to_string(first) + ", " + std::to_string(end) + ", " + std::to_string(k) + "]",
             "ascending rows [first, last, k] with k from 0 to num_speculative_tokens");
    }
    last = end;
  }
}

}  // namespace

const std::vector<AcceptancePreset>& acceptance_presets() {
  static const std::vector<AcceptancePreset> kPresets{
      {"eagle3-llama-3.1-8b-mtbench", "eagle", {.7296, .5208, .3545},
       "vLLM tests/v1/spec_decode/test_acceptance_length.py, MT-bench, T=0"},
      {"eagle3-qwen3-8b-mtbench", "eagle", {.6541, .3993, .2020},
       "vLLM tests/v1/spec_decode/test_acceptance_length.py, MT-bench, T=0"},
      {"eagle3-gpt-oss-20b-mtbench", "eagle", {.7165, .5120, .3337},
       "vLLM tests/v1/spec_decode/test_acceptance_length.py, MT-bench, T=0"},
      {"eagle3-gpt-oss-batch8", "eagle", {.622, .356, .203, .119, .060}, "vLLM pull request 42764"},
      {"eagle-code-edit", "eagle", {.77, .45, .24}, "vLLM pull request 24344"},
      {"ngram-code-edit", "ngram", {.81, .74, .70, .68, .66},
       "vLLM pull request 24344; steps with a draft only"},
      {"mtp-gsm8k", "mtp", {.834}, "vLLM pull request 48892, T=0"},
      {"mtp8-gsm8k", "mtp", {.762, .616, .513, .424, .364, .309, .272, .237},
       "vLLM pull request 48892, T=0"},
      {"mtp-deepseek-v4-random", "mtp", {.769, .381},
       "vLLM pull request 41044, random 1k/1k, concurrency 1"},
  };
  return kPresets;
}

void resolve_speculation(SpeculationOptions& o, const std::string& file) {
  if (!o.acceptance_preset.empty()) take_preset(o, file);
  if (!o.on()) return;
  const std::vector<std::string> methods{"ngram", "eagle", "mtp", "medusa", "draft_model"};
  bool known = false;
  for (const std::string& method : methods) known = known || method == o.method;
  if (!known) refuse(file, "method", "\"" + o.method + "\"", one_of(o.method, methods));
  if (o.num_speculative_tokens < 1 || o.num_speculative_tokens > 64) {
    refuse(file, "num_speculative_tokens", std::to_string(o.num_speculative_tokens), "1 to 64");
  }
  if (o.acceptance.empty()) {
    refuse(file, "acceptance", "nothing", "a rate, a rate per position, or an acceptance_preset");
  }
  check_rates(o.acceptance, file);
  if (o.method == "medusa" && o.acceptance.size() < 2) {
    refuse(file, "acceptance", "one rate", "a rate for each depth of the tree (medusa)");
  }
  if (!(o.draft_hit_rate >= 0.0 && o.draft_hit_rate <= 1.0)) {
    refuse(file, "draft_hit_rate", std::to_string(o.draft_hit_rate), "a share from 0 to 1");
  }
  if (o.method == "draft_model" && o.draft_model.empty()) {
    refuse(file, "draft_model", "nothing", "the draft's catalogue name or config.json");
  }
  check_batch_table(o, file);
}

}  // namespace headway
