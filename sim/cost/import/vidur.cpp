// Vidur's tables (microsoft/vidur, MIT): compute/<gpu>/<model>/mlp.csv.gz (layers by tokens),
// network/<gpu>_dgx/{all_reduce,send_recv}.csv.gz, old_branch/<gpu>_attention_*.csv.gz (one call)
// and old_branch/<gpu>_cpu_overheads.csv (host). Times there are in milliseconds, message sizes in
// bytes; each cell we take is the median of its samples.
//
// Left out: collectives across nodes, the pairwise-NVLink networks (another machine than the SXM
// boards), the A40, the second layer norm (the same kernel as the first).

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

constexpr double kVidurMsInUs = 1000;
constexpr const char* kCommit = "7d47513363ec";
constexpr const char* kVidurMethod = "eager, median of the samples";

struct Layer {
  const char* theirs;
  const char* ours;
};
constexpr Layer kLayers[] = {{"emb", "embedding"},          {"input_layernorm", "layernorm"},
                             {"attn_pre_proj", "qkv_proj"}, {"attn_rope", "rotary_emb"},
                             {"attn_post_proj", "o_proj"},  {"mlp_up_proj", "gate_up_proj"},
                             {"mlp_act", "act_fn"},         {"mlp_down_proj", "down_proj"},
                             {"add", "residual_add"}};

constexpr Layer kHostParts[] = {{"SCHEDULE_MEDIAN", "schedule"},
                                {"PREPARE_INPUTS_E2E_MEDIAN", "prepare_inputs"},
                                {"SAMPLER_E2E_MEDIAN", "sampler"},
                                {"PROCESS_MODEL_OUTPUTS_MEDIAN", "process_outputs"},
                                {"RAY_COMM_TIME_MEDIAN", "ray_communication"}};

std::string median_of(const std::string& name) { return "time_stats." + name + ".median"; }

void add_layers(const fs::path& file, const std::string& model, Builders& out) {
  CsvColumns csv(file.string());
  const int tokens = csv.column("num_tokens"), tp = csv.column("num_tensor_parallel_workers");
  std::vector<int> columns;
  for (const Layer& layer : kLayers) columns.push_back(csv.column(median_of(layer.theirs)));
  while (csv.next()) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (csv.text(columns[i]).empty()) continue;  // a layer this model lacks
      const std::string workers(csv.text(tp));
      out.get("layer", {{"layer", kLayers[i].ours}, {"model", model}, {"tp", workers}},
              std::string("layer-") + kLayers[i].ours + "-" + file_word(model) + "-tp" + workers,
              kVidurMethod)
          .add({csv.whole(tokens)}, csv.time_us(columns[i], kVidurMsInUs));
    }
  }
}

void add_network(const fs::path& file, const std::string& op, Builders& out) {
  CsvColumns csv(file.string());
  const int time = csv.column(median_of(op)), gpus = csv.column("num_workers");
  const int size = csv.column("size"), per_node = csv.column("devices_per_node");
  while (csv.next()) {
    if (csv.whole(per_node) != csv.whole(gpus)) continue;
    out.get(op, {{"impl", "nccl"}}, op + "-nccl", kVidurMethod)
        .add({csv.whole(gpus), csv.whole(size)}, csv.time_us(time, kVidurMsInUs));
  }
}

// One call a row: a prefill chunk over a history, or a batch of decodes of equal KV length. The
// model is known only by its shape.
void add_attention(const fs::path& file, Builders& out) {
  CsvColumns csv(file.string());
  const int prefill_time = csv.column(median_of("attn_prefill"));
  const int decode_time = csv.column(median_of("attn_decode"));
  const int batch = csv.column("batch_size"), chunk = csv.column("prefill_chunk_size");
  const int kv = csv.column("kv_cache_size"), is_prefill = csv.column("is_prefill");
  const int hidden = csv.column("n_embd"), heads = csv.column("n_q_head");
  const int kv_heads = csv.column("n_kv_head"), tp = csv.column("num_tensor_parallel_workers");
  while (csv.next()) {
    const std::string model = "hidden-" + std::string(csv.text(hidden)) + "-heads-" +
                              std::string(csv.text(heads)) + "-kv-" +
                              std::string(csv.text(kv_heads));
    const std::string workers(csv.text(tp));
    TableBuilder& table = out.get("attn_mixed", {{"model", model}, {"tp", workers}},
                                  "attn_mixed-" + file_word(model) + "-tp" + workers, kVidurMethod);
    if (csv.text(is_prefill) == "True") {
      if (csv.whole(batch) != 1) continue;
      table.add({csv.whole(chunk), csv.whole(kv), 0, 0}, csv.time_us(prefill_time, kVidurMsInUs));
    } else {
      table.add({0, 0, csv.whole(batch), csv.whole(kv)}, csv.time_us(decode_time, kVidurMsInUs));
    }
  }
}

void add_host(const fs::path& file, Builders& out) {
  CsvColumns csv(file.string());
  const int model = csv.column("model_name"), batch = csv.column("batch_size");
  const int tp = csv.column("tensor_parallel_degree");
  while (csv.next()) {
    const std::string name = catalogue_model_name(std::string(csv.text(model)));
    const std::string workers(csv.text(tp));
    for (const Layer& part : kHostParts) {
      const int time = csv.column(part.theirs);
      if (csv.text(time).empty()) continue;
      out.get("host", {{"part", part.ours}, {"model", name}, {"tp", workers}},
              std::string("host-") + part.ours + "-" + file_word(name) + "-tp" + workers,
              "CPU time, median over the steps of a run")
          .add({csv.whole(batch)}, csv.time_us(time, kVidurMsInUs));
    }
  }
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  if (!fs::is_directory(folder)) return paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string vidur_provenance(const std::string& gpu) {
  const nlohmann::ordered_json json = {
      {"source", "https://github.com/microsoft/vidur"},
      {"commit", kCommit},
      {"licence", "MIT"},
      {"attribution", "Microsoft Corporation, Vidur; converted by Headway"},
      {"device", "NVIDIA " + gpu + " (DGX)"},
      {"engine", "sarathi-serve"},
      {"engine_version", "not stated by the source"},
      {"driver", "not stated by the source"},
      {"clocks", "not stated by the source"},
      {"date", "not stated by the source"},
      {"measured_by", "the Vidur profiler"},
      {"method", "each layer alone, launched eagerly; medians"},
      {"kept", "layers, collectives within one node, attention calls, host overheads; four "
               "significant digits"},
      {"duplicates", "rows of one key are averaged; low_us and high_us are their extremes"}};
  return json.dump();
}

Profile import_gpu(const fs::path& root, const std::string& theirs, std::FILE* log) {
  Builders builders;
  for (const fs::path& model : sorted_entries(root / "compute" / theirs)) {
    if (!fs::exists(model / "mlp.csv.gz")) continue;
    add_layers(model / "mlp.csv.gz", catalogue_model_name(model.filename().string()), builders);
  }
  for (const char* op : {"all_reduce", "send_recv"}) {
    const fs::path file = root / "network" / (theirs + "_dgx") / (std::string(op) + ".csv.gz");
    if (fs::exists(file)) add_network(file, op, builders);
  }
  for (const fs::path& file : sorted_entries(root / "old_branch")) {
    const std::string name = file.filename().string();
    if (name.starts_with(theirs + "_attention_")) add_attention(file, builders);
    if (name == theirs + "_cpu_overheads.csv") add_host(file, builders);
  }
  Profile profile;
  profile.gpu = theirs + "-sxm";
  profile.name = profile.gpu + "/vidur-" + std::string(kCommit).substr(0, 7);
  std::string upper = theirs;
  upper[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(upper[0])));
  profile.provenance_json = vidur_provenance(upper);
  builders.build_into(profile, false, log);
  return profile;
}

}  // namespace

std::vector<Profile> import_vidur(const std::string& path, std::FILE* log) {
  const fs::path root = path;
  std::vector<Profile> profiles;
  for (const char* gpu : {"a100", "h100"}) {
    if (!fs::is_directory(root / "compute" / gpu)) continue;
    profiles.push_back(import_gpu(root, gpu, log));
  }
  if (profiles.empty()) {
    throw InputError({path, "", "no compute/a100 or compute/h100",
                      "a folder of Vidur's compute/, network/ and old_branch/"});
  }
  return profiles;
}

}  // namespace headway
