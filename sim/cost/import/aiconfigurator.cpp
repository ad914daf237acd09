// AIConfigurator's operator tables (ai-dynamo/aiconfigurator, Apache-2.0): <gpu>/<engine-version>/
// *_perf.csv.gz, with <gpu>/nccl-<version>/nccl_perf.csv.gz and MANIFEST.csv beside.
//
// Kept: bf16 and fp8 (per tensor, and in 128x128 blocks) matrix products; attention of head size
// 128, no window, bf16 queries, bf16 and fp8 KV; bf16 and fp8 experts under the balanced and the
// power_law_1.2 loads; the engine's own all-reduce; NCCL's collectives in half precision.
// Left out, in every profile: other types and head sizes; sites with n < 128 or k < 256, which no
// model has; rows of zero tokens; power_law_1.01. Times keep four significant digits.
//
// Units there: milliseconds; message sizes in elements (2 bytes each here). `step` is the history
// before the query token, so the KV length is step + 1.

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

constexpr double kMsInUs = 1000;
constexpr std::int64_t kMinN = 128, kMinK = 256;
constexpr std::int64_t kMessageElementBytes = 2;
constexpr const char* kGraph = "CUDA-graph replay, mean of at least 6, no cache flush";

using Variant = std::map<std::string, std::string>;

// Their type names that we keep, in ours; fp8 says how it is scaled.
struct WeightType {
  const char* theirs;
  const char* dtype;
  const char* scaling;
  const char* file;
};
constexpr WeightType kWeightTypes[] = {{"bfloat16", "bf16", "", "bf16"},
                                       {"fp8", "fp8", "tensor", "fp8"},
                                       {"fp8_block", "fp8", "block", "fp8-block"}};

// Makes the builders of these types in this order, whatever the order of the rows.
void add_gemm(const std::string& path, Builders& out) {
  for (const WeightType& type : kWeightTypes) {
    CsvColumns csv(path);
    const int kernel = csv.column("kernel_source"), dtype = csv.column("gemm_dtype");
    const int m = csv.column("m"), n = csv.column("n"), k = csv.column("k");
    const int time = csv.column("latency_ms");
    Variant variant{{"weights", type.dtype}, {"activations", type.dtype}};
    if (*type.scaling != 0) variant["scaling"] = type.scaling;
    while (csv.next()) {
      if (csv.text(dtype) != type.theirs) continue;
      const std::int64_t key_n = csv.whole(n), key_k = csv.whole(k), key_m = csv.whole(m);
      if (key_n < kMinN || key_k < kMinK || key_m == 0) continue;
      out.get("gemm", variant, std::string("gemm-") + type.file, kGraph)
          .add({key_n, key_k, key_m}, csv.time_us(time, kMsInUs), csv.text(kernel));
    }
  }
}

// prefill: `isl` new tokens each; decode: KV length step + 1 each.
void add_attention(const std::string& path, bool prefill, Builders& out) {
  const std::pair<const char*, const char*> kv_types[] = {{"bfloat16", "bf16"}, {"fp8", "fp8"}};
  for (const auto& [theirs, ours] : kv_types) {
    CsvColumns csv(path);
    const int kernel = csv.column("kernel_source"), queries = csv.column("attn_dtype");
    const int kv = csv.column("kv_cache_dtype"), head_dim = csv.column("head_dim");
    const int window = csv.optional_column("window_size"), batch = csv.column("batch_size");
    const int heads = csv.column("num_heads"), kv_heads = csv.column("num_key_value_heads");
    const int isl = csv.column("isl"), step = csv.column("step");
    const int time = csv.column("latency_ms");
    const std::string op = prefill ? "attn_prefill" : "attn_decode";
    while (csv.next()) {
      if (csv.text(kv) != theirs || csv.text(queries) != "bfloat16") continue;
      if (csv.whole(head_dim) != 128 || (window >= 0 && csv.whole(window) != 0)) continue;
      if (prefill ? csv.whole(step) != 0 : csv.whole(isl) != 1) continue;
      const std::int64_t length = prefill ? csv.whole(isl) : csv.whole(step) + 1;
      out.get(op, {{"kv", ours}, {"head_dim", "128"}, {"window", "0"}}, op + "-kv-" + ours, kGraph)
          .add({csv.whole(heads), csv.whole(kv_heads), csv.whole(batch), length},
               csv.time_us(time, kMsInUs), csv.text(kernel));
    }
  }
}

void add_moe(const std::string& path, Builders& out) {
  const std::pair<const char*, const char*> loads[] = {{"power_law_1.2", "power-law"},
                                                       {"balanced", "balanced"}};
  for (const WeightType& type : kWeightTypes) {
    for (const auto& [load, load_file] : loads) {
      CsvColumns csv(path);
      const int kernel = csv.column("kernel_source"), dtype = csv.column("moe_dtype");
      const int distribution = csv.column("distribution"), time = csv.column("latency_ms");
      const int hidden = csv.column("hidden_size"), inter = csv.column("inter_size");
      const int topk = csv.column("topk"), experts = csv.column("num_experts");
      const int tp = csv.column("moe_tp_size"), ep = csv.column("moe_ep_size");
      const int tokens = csv.column("num_tokens");
      Variant variant{{"weights", type.dtype}, {"distribution", load}};
      if (*type.scaling != 0) variant["scaling"] = type.scaling;
      while (csv.next()) {
        if (csv.text(dtype) != type.theirs || csv.text(distribution) != load) continue;
        if (csv.whole(tokens) == 0) continue;
        out.get("moe", variant, std::string("moe-") + type.file + "-" + load_file, kGraph)
            .add({csv.whole(hidden), csv.whole(inter), csv.whole(topk), csv.whole(experts),
                  csv.whole(tp), csv.whole(ep), csv.whole(tokens)},
                 csv.time_us(time, kMsInUs), csv.text(kernel));
      }
    }
  }
}

void add_all_reduce(const std::string& path, Builders& out) {
  CsvColumns csv(path);
  const int kernel = csv.column("kernel_source"), dtype = csv.column("allreduce_dtype");
  const int gpus = csv.column("num_gpus"), size = csv.column("message_size");
  const int time = csv.column("latency_ms");
  while (csv.next()) {
    if (csv.text(dtype) != "bfloat16") continue;
    // TensorRT-LLM's kernel is timed in a graph too; only vLLM's exists in both manners.
    const bool eager = csv.text(kernel).ends_with("_eager");
    const std::string impl = eager ? "custom-eager" : "custom-graph";
    out.get("all_reduce", {{"impl", impl}}, "all_reduce-" + impl,
            eager ? "launched one by one, mean of at least 6" : kGraph)
        .add({csv.whole(gpus), csv.whole(size) * kMessageElementBytes}, csv.time_us(time, kMsInUs),
             csv.text(kernel));
  }
}

void add_nccl(const std::string& path, const std::string& version, Builders& out) {
  const std::pair<const char*, const char*> ops[] = {{"all_reduce", "all_reduce"},
                                                     {"all_gather", "all_gather"},
                                                     {"reduce_scatter", "reduce_scatter"},
                                                     {"alltoall", "all_to_all"}};
  for (const auto& [theirs, ours] : ops) {
    CsvColumns csv(path);
    const int op = csv.column("op_name"), dtype = csv.column("nccl_dtype");
    const int gpus = csv.column("num_gpus"), size = csv.column("message_size");
    const int time = csv.column("latency_ms");
    while (csv.next()) {
      if (csv.text(op) != theirs || csv.text(dtype) != "half") continue;
      out.get(ours, {{"impl", "nccl"}}, std::string(ours) + "-nccl", "nccl-tests, " + version)
          .add({csv.whole(gpus), csv.whole(size) * kMessageElementBytes},
               csv.time_us(time, kMsInUs));
    }
  }
}

// "h100_sxm" -> "h100-sxm"; the server edition is the only RTX PRO 6000 in the catalogue.
std::string gpu_name(std::string folder) {
  std::replace(folder.begin(), folder.end(), '_', '-');
  const std::string server = "-server";
  if (folder.ends_with(server)) folder.resize(folder.size() - server.size());
  return folder;
}

// The device's own name, from MANIFEST.csv two folders up; "" when there is none.
std::string device_of(const fs::path& engine) {
  const fs::path manifest = engine.parent_path().parent_path() / "MANIFEST.csv";
  if (!fs::exists(manifest)) return "";
  CsvColumns csv(manifest.string());
  const int system = csv.column("system"), device = csv.column("device");
  while (csv.next()) {
    if (csv.text(system) == engine.parent_path().filename().string()) {
      return std::string(csv.text(device));
    }
  }
  return "";
}

std::string provenance(const fs::path& engine, const std::string& version, int outliers) {
  const std::string folder = engine.filename().string();
  const std::size_t dash = folder.find('-');
  const nlohmann::ordered_json json = {
      {"source", "https://github.com/ai-dynamo/aiconfigurator"},
      {"commit", "095f58a51c4c"},
      {"licence", "Apache-2.0"},
      {"attribution", "NVIDIA Corporation, AIConfigurator; converted by Headway"},
      {"device", device_of(engine)},
      {"engine", folder.substr(0, dash)},
      {"engine_version", dash == std::string::npos ? "" : folder.substr(dash + 1)},
      {"nccl_version", version},
      {"driver", "not stated by the source"},
      {"clocks", "not stated by the source"},
      {"date", "not stated by the source"},
      {"measured_by", "the AIConfigurator collectors"},
      {"method", "each operator alone, replayed in a CUDA graph after warm-up; small shapes find "
                 "their weights in L2; every row holds a launch floor"},
      {"kept", "bf16 and fp8 products with n >= 128 and k >= 256; attention of head size 128 "
               "without a window, bf16 queries; experts under balanced and power_law_1.2 loads; "
               "half-precision collectives; four significant digits"},
      {"duplicates", "rows of one key are averaged; low_us and high_us are their extremes"},
      {"outliers", std::to_string(outliers) + " rows flagged: off by more than 1.6x from the "
                   "neighbours along every axis at once; kept, not to be interpolated through"}};
  return json.dump();
}

// NCCL's tables lie beside the engines of a GPU; the version is the folder's name.
fs::path nccl_folder(const fs::path& gpu) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(gpu)) {
    if (fs::exists(entry.path() / "nccl_perf.csv.gz")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? fs::path() : found.back();
}

std::string operator_file(const fs::path& engine, const char* table) {
  for (const char* end : {"_perf.csv.gz", "_perf.csv"}) {
    const fs::path path = engine / (std::string(table) + end);
    if (fs::exists(path)) return path.string();
  }
  return "";
}

Profile import_engine(const fs::path& engine, std::FILE* log) {
  Builders builders;
  add_gemm(operator_file(engine, "gemm"), builders);
  const std::string prefill = operator_file(engine, "context_attention");
  if (!prefill.empty()) add_attention(prefill, true, builders);
  const std::string decode = operator_file(engine, "generation_attention");
  if (!decode.empty()) add_attention(decode, false, builders);
  const std::string moe = operator_file(engine, "moe");
  if (!moe.empty()) add_moe(moe, builders);
  const std::string all_reduce = operator_file(engine, "custom_allreduce");
  if (!all_reduce.empty()) add_all_reduce(all_reduce, builders);
  const fs::path nccl = nccl_folder(engine.parent_path());
  if (!nccl.empty()) {
    add_nccl((nccl / "nccl_perf.csv.gz").string(), nccl.filename().string(), builders);
  }
  Profile profile;
  const std::string folder = engine.filename().string();
  profile.host = fitted_host_terms(folder.substr(0, folder.find('-')));
  profile.gpu = gpu_name(engine.parent_path().filename().string());
  profile.name = profile.gpu + "/" + engine.filename().string();
  const int outliers = builders.build_into(profile, true, log);
  profile.provenance_json = provenance(engine, nccl.filename().string(), outliers);
  return profile;
}

}  // namespace

std::vector<Profile> import_aiconfigurator(const std::string& path, std::FILE* log) {
  if (!fs::is_directory(path)) {
    throw InputError({path, "", "no folder", "a folder of AIConfigurator tables"});
  }
  std::vector<fs::path> engines;
  // Absolute, so that "." and "gpu/engine/" have the names of their folders too.
  const fs::path root = fs::canonical(path);
  const auto consider = [&](const fs::path& folder) {
    if (fs::is_directory(folder) && !operator_file(folder, "gemm").empty()) {
      engines.push_back(folder);
    }
  };
  consider(root);
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator();
       ++it) {
    consider(it->path());
  }
  if (engines.empty()) {
    throw InputError({path, "", "no <gpu>/<engine>/gemm_perf.csv.gz",
                      "the folder of all GPUs, of one GPU, or of one engine"});
  }
  std::sort(engines.begin(), engines.end());
  std::vector<Profile> profiles;
  for (const fs::path& engine : engines) profiles.push_back(import_engine(engine, log));
  return profiles;
}

}  // namespace headway
