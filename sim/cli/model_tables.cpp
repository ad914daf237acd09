#include <fmt/format.h>

#include "sim/cli/catalogue_tables.h"
#include "sim/core/data_files.h"
#include "sim/model/hf_config.h"
#include "sim/model/model_words.h"
#include "sim/model/pruning.h"

namespace headway {
namespace {

std::string billions(std::int64_t count) {
  return fmt::format("{:.2f}", static_cast<double>(count) / 1e9);
}

}  // namespace

TextTable model_rows() {
  TextTable rows = {{"name", "parameters_1e9", "active_1e9", "layers", "hidden", "mixer", "mlp",
                     "max_len", "kv_bytes_per_token", "kv_mb_at_32k", "source"}};
  for (const std::string& name : catalogue_names("models")) {
    const ModelSpec m = load_model(name, "");
    rows.push_back({name, billions(parameter_count(m)), billions(active_parameter_count(m)),
                    std::to_string(m.num_hidden_layers()), std::to_string(m.hidden_size),
                    mixer_words(m), mlp_words(m), std::to_string(m.max_position_embeddings),
                    fmt::format("{:.0f}", kv_bytes_per_token(m, DType::kBf16)),
                    fmt::format("{:.1f}", kv_bytes(m, DType::kBf16, 32768) / 1e6), m.source});
  }
  return rows;
}

TextTable pruning_rows() {
  TextTable rows = {{"name", "base", "base_1e9", "parameters_1e9", "layers", "hidden", "mixer",
                     "mlp", "published_1e9", "cited", "source"}};
  for (const PruningPreset& preset : pruning_presets()) {
    const ModelSpec base = load_model(preset.base, "");
    Pruning pruning;
    pruning.preset = preset.name;
    const ModelSpec m = prune(base, pruning, "");
    std::string cited;
    for (const Citation& citation : preset.citations) {
      cited += fmt::format("{}{}: {} ({})", cited.empty() ? "" : "; ", citation.what,
                           citation.value, citation.source);
    }
    rows.push_back(
        {preset.name, preset.base, billions(parameter_count(base)), billions(parameter_count(m)),
         std::to_string(m.num_hidden_layers()), std::to_string(m.hidden_size), mixer_words(m),
         mlp_words(m),
         preset.published_digits > 0 ? fmt::format("{:g}", preset.published_parameters / 1e9) : "-",
         cited.empty() ? "-" : cited, preset.source});
  }
  return rows;
}

}  // namespace headway
