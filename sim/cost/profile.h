#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headway {

// Measured times of one operator in one variant.
//
// Rows are keyed by whole numbers along named axes. Times are of ONE call, in microseconds.
//
// op             axes (in this order)                         variant keys
// gemm           n, k, m                                      weights, activations (dtype names)
// attn_prefill   heads, kv_heads, batch, new_tokens           kv, head_dim, window   (from empty history)
// attn_decode    heads, kv_heads, batch, kv_tokens            kv, head_dim, window   (KV length of EACH
//                                                              sequence, the new token included)
// moe            hidden, inter, topk, experts, tp, ep, tokens  weights, distribution
// all_reduce     gpus, bytes                                  impl (custom-graph | custom-eager | nccl)
// all_gather, reduce_scatter, all_to_all   gpus, bytes        impl
// layer          tokens                                       layer (qkv_proj, o_proj, ...), model, tp
// per_sequence   sequences                                    layer (lm_head, sampler), model, tp
// attn_mixed     prefill_chunk, kv_prefill, n_decode, kv_decode   model, tp   (one call, mixed batch)
// attn_skew      see cost/import docs                         model, tp
// iteration      (whole engine iterations: splitwise)         model, gpus
struct ProfileTable {
  std::string op;
  std::map<std::string, std::string> variant;  // never interpolated across
  std::vector<std::string> axes;
  std::vector<std::int64_t> keys;   // rows x axes, row-major, sorted lexicographically, unique
  std::vector<double> time_us;      // one a row; the mean where the source had duplicates
  std::vector<double> low_us, high_us;  // noise band, one a row; empty = none known
  std::vector<std::uint8_t> flags;  // bit 0: outlier (kept, not interpolated through); empty = none
  std::string file;                 // table file inside the profile folder
  std::string method;               // how it was timed: "cuda-graph replay, mean of 6"

  std::size_t rows() const { return time_us.size(); }
  std::int64_t key(std::size_t row, std::size_t axis) const { return keys[row * axes.size() + axis]; }
};

// Host time that an engine adds to its kernels; fitted once (README says on what) and frozen.
struct HostTerms {
  double per_step_us = 0;
  double per_request_us = 0;   // once a request, before it can be scheduled; does not occupy the engine
  double per_sequence_us = 0;  // per scheduled sequence and step
  std::string source;          // what it was fitted on
};

// One folder under profiles/: the measured tables of one GPU under one engine, with provenance.
struct Profile {
  std::string name;      // "h100-sxm/vllm-0.24.0"
  std::string folder;    // where it was read
  std::string gpu;       // catalogue name of the GPU it was measured on
  std::string provenance_json;  // the provenance object as text: source, commit, licence, device, engine,
                                // version, driver, clocks, date, method, measured_by
  HostTerms host;
  std::vector<ProfileTable> tables;

  // The table of that op whose variant contains all the given pairs; nullptr when there is none.
  const ProfileTable* find(const std::string& op,
                           const std::map<std::string, std::string>& variant) const;
};

// Reads folder/profile.json and its tables. InputError on a damaged, newer or unreadable profile.
Profile read_profile(const std::string& folder, const std::string& name);
// Writes a profile folder: each file whole or not at all, profile.json last.
void write_profile(const Profile& profile, const std::string& folder);

}  // namespace headway
