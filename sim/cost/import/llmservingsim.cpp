// LLMServingSim's tables (casys-kaist/LLMServingSim, MIT): <GPU>/<model>/bf16/tp<N>/ with
// dense.csv, per_sequence.csv, attention.csv.gz, skew.csv.gz and, for mixtures of experts, moe.csv.
// One decoder layer of vLLM 0.19.0, launched eagerly; times in microseconds. All of a GPU becomes
// one profile.
//
// dense.csv -> layer (`layernorm` runs twice a layer; embedding and final_layernorm once a step);
// per_sequence.csv -> per_sequence; attention.csv.gz -> attn_mixed; moe.csv -> layer_experts;
// skew.csv.gz -> three attn_skew tables, variant "at": the skewed batch itself, and in the same
// session the batch with every sequence at the mean length and at the long one, so that
// (skew - mean) / (max - mean) says where between them an unequal batch lies.
// The tp2 tables hold no communication; the links there: 16 GB/s, 20 us.

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/core/errors.h"
#include "sim/cost/import/csv_columns.h"
#include "sim/cost/import/import_support.h"
#include "sim/cost/import/importers.h"

namespace headway {
namespace fs = std::filesystem;
namespace {

constexpr const char* kEngineVersion = "0.19.0";
constexpr const char* kEager = "one decoder layer under vLLM, eager";

// One <GPU>/<model>/bf16/tp<N> folder.
struct Source {
  fs::path folder;
  std::string gpu, model, tp;  // gpu and model by our names
  std::string suffix;          // of the table files
};

std::string their_gpu_name(std::string folder) {
  std::transform(folder.begin(), folder.end(), folder.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (folder == "rtxpro6000") return "rtx-pro-6000";
  const std::size_t digit = folder.find_first_of("0123456789");
  if (folder.starts_with("rtx") && digit == 3) folder.insert(3, "-");
  return folder;
}

std::string device_name(const std::string& folder) {
  if (folder == "RTX4090") return "NVIDIA GeForce RTX 4090";
  if (folder == "RTXPRO6000") return "NVIDIA RTX PRO 6000 Blackwell";
  return folder;
}

std::map<std::string, std::string> variant_of(const Source& source) {
  return {{"model", source.model}, {"tp", source.tp}};
}

// dense.csv and per_sequence.csv: one table a layer.
void add_layers(const Source& source, const std::string& file, const std::string& op,
                const std::string& axis, Builders& out) {
  CsvColumns csv((source.folder / file).string());
  const int layer = csv.column("layer"), key = csv.column(axis), time = csv.column("time_us");
  while (csv.next()) {
    const std::string name(csv.text(layer));
    auto variant = variant_of(source);
    variant["layer"] = name;
    out.get(op, variant, op + "-" + file_word(name) + source.suffix, kEager)
        .add({csv.whole(key)}, csv.time_us(time, 1));
  }
}

void add_keyed(const Source& source, const std::string& file, TableBuilder& out,
               const std::vector<std::string>& columns, const std::string& time_column) {
  CsvColumns csv((source.folder / file).string());
  std::vector<int> indices;
  for (const std::string& column : columns) indices.push_back(csv.column(column));
  const int time = csv.column(time_column);
  std::vector<std::int64_t> key(columns.size());
  while (csv.next()) {
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = csv.whole(indices[i]);
    out.add(key, csv.time_us(time, 1));
  }
}

void add_attention(const Source& source, Builders& out) {
  const auto variant = variant_of(source);
  add_keyed(source, "attention.csv.gz",
            out.get("attn_mixed", variant, "attn_mixed" + source.suffix, kEager),
            {"prefill_chunk", "kv_prefill", "n_decode", "kv_decode"}, "time_us");
  if (!fs::exists(source.folder / "skew.csv.gz")) return;
  for (const char* at : {"skew", "mean", "max"}) {
    auto at_variant = variant;
    at_variant["at"] = at;
    add_keyed(source, "skew.csv.gz",
              out.get("attn_skew", at_variant, std::string("attn_skew-") + at + source.suffix,
                      kEager),
              {"n", "nb", "pc", "kp", "kvs", "kv_big"}, std::string("t_") + at + "_us");
  }
}

void add_experts(const Source& source, Builders& out) {
  if (!fs::exists(source.folder / "moe.csv")) return;
  auto variant = variant_of(source);
  variant["layer"] = "moe";
  add_keyed(source, "moe.csv",
            out.get("layer_experts", variant, "layer_experts-moe" + source.suffix, kEager),
            {"tokens", "activated_experts"}, "time_us");
}

std::string llmservingsim_provenance(const std::string& their_gpu) {
  const nlohmann::ordered_json json = {
      {"source", "https://github.com/casys-kaist/LLMServingSim"},
      {"commit", "5daddb21a545"},
      {"licence", "MIT"},
      {"attribution", "CASYS, KAIST: LLMServingSim; converted by Headway"},
      {"device", device_name(their_gpu)},
      {"engine", "vllm"},
      {"engine_version", kEngineVersion},
      {"driver", "not stated by the source"},
      {"clocks", "not stated by the source"},
      {"date", "not stated by the source"},
      {"measured_by", "the LLMServingSim profiler"},
      {"method", "one decoder layer under vLLM, launched eagerly; bf16 weights and KV"},
      {"kept", "every row; four significant digits"},
      {"links", {{"bytes_per_second", 16e9}, {"latency_us", 20}}},
      {"notes", "tables of tp 2 hold no communication time; layernorm runs twice a layer"}};
  return json.dump();
}

// Every tp<N> folder at or below `root` that holds a dense.csv, sorted.
std::vector<Source> find_sources(const std::string& path) {
  if (!fs::is_directory(path)) {
    throw InputError({path, "", "no folder", "a folder of LLMServingSim tables"});
  }
  const fs::path root = fs::canonical(path);
  std::vector<fs::path> folders;
  if (fs::exists(root / "dense.csv")) folders.push_back(root);
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_directory() && fs::exists(entry.path() / "dense.csv")) {
      folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  std::vector<Source> sources;
  for (const fs::path& folder : folders) {
    const std::string tp = folder.filename().string();
    const fs::path model = folder.parent_path().parent_path();
    if (!tp.starts_with("tp") || folder.parent_path().filename() != "bf16") {
      throw InputError({folder.string(), "", "a table folder of another layout",
                        "<GPU>/<model>/bf16/tp<N>"});
    }
    Source source{folder, model.parent_path().filename().string(),
                  catalogue_model_name(model.filename().string()), tp.substr(2), ""};
    source.suffix = "-" + file_word(source.model) + "-" + tp;
    sources.push_back(source);
  }
  if (sources.empty()) {
    throw InputError({path, "", "no <GPU>/<model>/bf16/tp<N>/dense.csv", "LLMServingSim's tables"});
  }
  return sources;
}

}  // namespace

std::vector<Profile> import_llmservingsim(const std::string& path, std::FILE* log) {
  std::map<std::string, Builders> by_gpu;
  for (const Source& source : find_sources(path)) {
    Builders& builders = by_gpu[source.gpu];
    add_layers(source, "dense.csv", "layer", "tokens", builders);
    add_layers(source, "per_sequence.csv", "per_sequence", "sequences", builders);
    add_attention(source, builders);
    add_experts(source, builders);
  }
  std::vector<Profile> profiles;
  for (const auto& [their_gpu, builders] : by_gpu) {
    Profile profile;
    profile.host = fitted_host_terms();
    profile.gpu = their_gpu_name(their_gpu);
    profile.name = profile.gpu + "/llmservingsim-vllm-" + kEngineVersion;
    profile.provenance_json = llmservingsim_provenance(their_gpu);
    builders.build_into(profile, false, log);
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

}  // namespace headway
