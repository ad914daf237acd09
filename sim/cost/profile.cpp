#include "sim/cost/profile.h"

#include <array>
#include <filesystem>

#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

using Axes = std::vector<std::string>;

// One row an operator; the comment over ProfileTable says what each axis counts.
struct OpRow {
  const char* op;
  Axes axes;
};
const std::array<OpRow, 27>& op_rows() {
  static const std::array<OpRow, 27> rows{{
      {"gemm", {"n", "k", "m"}},
      {"attn_prefill", {"heads", "kv_heads", "batch", "new_tokens"}},
      {"attn_decode", {"heads", "kv_heads", "batch", "kv_tokens"}},
      {"moe", {"hidden", "inter", "topk", "experts", "tp", "ep", "tokens"}},
      {"all_reduce", {"gpus", "bytes"}},
      {"all_gather", {"gpus", "bytes"}},
      {"reduce_scatter", {"gpus", "bytes"}},
      {"all_to_all", {"gpus", "bytes"}},
      {"send_recv", {"gpus", "bytes"}},
      {"layer", {"tokens"}},
      {"layer_experts", {"tokens", "experts"}},
      {"per_sequence", {"sequences"}},
      {"attn_mixed", {"prefill_chunk", "kv_prefill", "n_decode", "kv_decode"}},
      {"attn_skew", {"n_decode", "n_long", "prefill_chunk", "kv_prefill", "kv_short", "kv_long"}},
      {"iteration", {"prompt_tokens", "output_tokens", "batch"}},
      {"host", {"batch"}},
      {"rmsnorm", {"hidden", "tokens"}},
      {"rope", {"heads", "kv_heads", "tokens"}},
      {"silu_mul", {"width", "tokens"}},
      {"kv_write", {"kv_heads", "tokens"}},
      {"embedding", {"hidden", "tokens"}},
      {"sampling", {"vocab", "sequences"}},
      {"rejection_verify", {"vocab", "batch", "draft_tokens"}},
      {"attn_prefill_past", {"heads", "kv_heads", "batch", "past_tokens", "new_tokens"}},
      {"mla_decode", {"heads", "batch", "kv_tokens"}},
      {"ssm_update", {"heads", "head_dim", "state", "batch"}},
      {"gdn_update", {"heads", "key_dim", "value_dim", "batch"}},
  }};
  return rows;
}

bool holds_profile(const std::string& folder) {
  std::error_code ec;
  return std::filesystem::is_regular_file(folder + "/profile.json", ec);
}

}  // namespace

const ProfileTable* Profile::find(const std::string& op,
                                  const std::map<std::string, std::string>& variant) const {
  for (const ProfileTable& table : tables) {
    if (table.op != op) continue;
    bool match = true;
    for (const auto& [key, value] : variant) {
      const auto it = table.variant.find(key);
      match = match && it != table.variant.end() && it->second == value;
    }
    if (match) return &table;
  }
  return nullptr;
}

std::vector<std::string> profile_axes(const std::string& op) {
  for (const OpRow& row : op_rows()) {
    if (op == row.op) return row.axes;
  }
  return {};
}

std::vector<std::string> profile_ops() {
  std::vector<std::string> ops;
  for (const OpRow& row : op_rows()) ops.emplace_back(row.op);
  return ops;
}

std::vector<std::string> profile_names() { return catalogue_names("profiles"); }

Profile load_profile(const std::string& name_or_folder) {
  const std::string installed = data_folder("profiles") + "/" + name_or_folder;
  if (!name_or_folder.empty() && holds_profile(installed)) {
    return read_profile(installed, name_or_folder);
  }
  if (holds_profile(name_or_folder)) return read_profile(name_or_folder, "");
  throw InputError({"", "profile", "\"" + name_or_folder + "\", which names no profile",
                    one_of(name_or_folder, profile_names()) +
                        ", or a folder that holds a profile.json"});
}

void check_profile_for(const Profile& profile, const std::string& gpu_name) {
  if (profile.gpu == gpu_name && !profile.incomplete.empty()) {
    throw InputError({profile.folder, "profile",
                      "an incomplete profile (" + profile.incomplete + ")",
                      "a complete one (profile again), or \"roofline\""});
  }
  if (profile.gpu == gpu_name) return;
  std::string choices;
  for (const std::string& name : profile_names()) {
    if (name.starts_with(gpu_name + "/")) choices += (choices.empty() ? "" : ", ") + name;
  }
  throw InputError({"", "profile",
                    "a profile for another GPU (" + profile.name + " was measured on " +
                        profile.gpu + ", the GPU is " + gpu_name + ")",
                    (choices.empty() ? "" : "one of " + choices + ", or ") +
                        std::string("\"roofline\"")});
}

}  // namespace headway
