#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headway {

// What a table's own probes said of it: calls between its points that were measured, left out of
// it, and then predicted from it. Shares of the measured time: 0.03 is 3 %.
struct HoldOut {
  std::int64_t points = 0;
  double err_median = 0, err_p90 = 0;  // of |predicted / measured - 1|
  double bias = 0;                     // median of predicted / measured - 1
};

// What is odd about a row. Only an outlier is not interpolated through.
enum RowFlag : std::uint8_t {
  kRowOutlier = 1,
  kRowNoisy = 2,       // the interval stayed wider than was asked for
  kRowThrottled = 4,   // the clock was below 75 % of what the device had shown
  kRowSinglePass = 8,  // visited once: nothing is known of its drift
};

// Measured times of one operator in one variant.
//
// Rows are keyed by whole numbers (none negative) along named axes. Times are of ONE call, in
// microseconds.
//
// op                 axes, in this order                      variant keys
// gemm               n, k, m                                  weights, activations [, scaling]
// attn_prefill       heads, kv_heads, batch, new_tokens       kv, head_dim, window
// attn_decode        heads, kv_heads, batch, kv_tokens        kv, head_dim, window
// moe                hidden, inter, topk, experts, tp, ep, tokens
//                                                             weights, distribution [, scaling]
// all_reduce, all_gather, reduce_scatter, all_to_all, send_recv
//                    gpus, bytes                              impl
// layer              tokens                                   layer, model, tp
// layer_experts      tokens, experts                          layer, model, tp
// per_sequence       sequences                                layer, model, tp
// attn_mixed         prefill_chunk, kv_prefill, n_decode, kv_decode   model, tp
// attn_skew          n_decode, n_long, prefill_chunk, kv_prefill, kv_short, kv_long   model, tp, at
// iteration          prompt_tokens, output_tokens, batch      model, gpus, phase (prompt | token)
// host               batch                                    part, model, tp
// rmsnorm            hidden, tokens                           dtype, residual (yes | no)
// rope               heads, kv_heads, tokens                  dtype, head_dim
// silu_mul           width, tokens                            dtype
// kv_write           kv_heads, tokens                         kv, head_dim, page
// embedding          hidden, tokens                           dtype
// sampling           vocab, sequences                         dtype, method (greedy | top_k_top_p)
// rejection_verify   vocab, batch, draft_tokens               dtype
// attn_prefill_past  heads, kv_heads, batch, past_tokens, new_tokens   kv, head_dim, window
// mla_decode         heads, batch, kv_tokens                  kv, latent, rope
// ssm_update         heads, head_dim, state, batch            state_dtype, groups
// gdn_update         heads, key_dim, value_dim, batch         state_dtype
//
// gemm: n output features, k input features (rank-local), m tokens. attn_prefill: from an empty
// history. attn_decode: kv_tokens of EACH sequence, the new token included. moe: the distribution
// of tokens over experts. Collectives: bytes of the whole buffer; impl custom-graph (the engine's
// own kernel, replayed in a CUDA graph), custom-eager or nccl. layer: qkv_proj, o_proj, ...; its
// `experts` are those that the tokens hit. per_sequence: lm_head, sampler. attn_mixed: ONE call for
// a mixed batch; kv_decode of EACH decode sequence. attn_skew: one call in which n_long of the
// decode sequences hold kv_long tokens; at = skew is that batch, mean and max are the batches of
// equal lengths, the mean and kv_long. iteration: whole engine steps. host: CPU time of a step.
// rmsnorm: with the residual's addition or without. silu_mul: width of the result. kv_write: keys
// and values of one layer into pages. attn_prefill_past: attn_prefill behind past_tokens of cache
// in EACH sequence. rejection_verify: draft_tokens of EACH sequence. mla_decode: all heads over one
// latent of `latent` + `rope` elements. ssm_update: one token of each of `batch` sequences through
// a Mamba-2 layer's state, heads x head_dim x state; gdn_update: the same of a gated delta net.
//
// Variant values are dtype names (core/dtype.h) or words. fp8 weights also say "scaling": tensor
// (listed first, so it is found when the scaling is not asked for) or block (128x128 blocks).
struct ProfileTable {
  std::string op;
  std::map<std::string, std::string> variant;  // never interpolated across
  std::vector<std::string> axes;
  std::vector<std::int64_t> keys;   // rows x axes, row-major, sorted lexicographically, unique
  std::vector<double> time_us;      // one a row; the mean where the source had duplicates
  std::vector<double> low_us, high_us;  // noise band, one a row; empty = none known
  std::vector<std::uint8_t> flags;  // RowFlag bits; empty = none
  std::string file;                 // table file inside the profile folder
  std::string method;               // how it was timed: "cuda-graph replay, mean of 6"
  std::optional<HoldOut> holdout;

  std::size_t rows() const { return time_us.size(); }
  std::int64_t key(std::size_t row, std::size_t axis) const {
    return keys[row * axes.size() + axis];
  }
};

// Host time that an engine adds to its kernels; fitted once (README says on what) and frozen.
struct HostTerms {
  double per_step_us = 0;
  double per_request_us = 0;   // once a request, before it can be scheduled; the engine is free
  double per_sequence_us = 0;  // per scheduled sequence and step
  std::string source;          // what it was fitted on
  double per_admission_us = 0;  // once a request, in its first step; the engine waits
};

// A whole made of operators, timed as one, against the sum of the table times of its parts: what is
// lost or hidden between them.
struct Closure {
  std::string what;  // "layer decode batch 8 context 1024 llama-3.1-8b tp 1"
  double measured_us = 0, sum_us = 0;
};

// One folder under profiles/: profile.json ("headway-profile/1") beside one CSV (gzip) a table,
// whose columns are the axes, time_us, then where needed low_us and high_us (empty = time_us) and
// flags (empty = 0). profile.json lists each table's op, variant, axes, file, rows, method and a
// hash of its text; a content hash over the tables names the data, whatever is edited in the host
// block. What a profile does not have (holdout, run_sigma, overheads, closure, incomplete, session)
// is left out.
//
// The measured tables of one GPU under one engine, with provenance.
struct Profile {
  std::string name;      // "h100-sxm/vllm-0.24.0"
  std::string folder;    // where it was read
  std::string gpu;       // catalogue name of the GPU it was measured on
  // The provenance object as text: source, commit, licence, device, engine, versions, clocks, date,
  // method, measured_by, what was kept.
  std::string provenance_json;
  HostTerms host;
  // Relative spread of one and the same call over the session: an error that all rows share, unlike
  // their own intervals. 0 = not known.
  double run_sigma = 0;
  // What lies around kernels: "graph_node_us", "kernel_launch_us", "h2d_bytes_per_s", ...
  std::map<std::string, double> overheads;
  std::vector<Closure> closure;
  std::string incomplete;    // why tables or rows are missing ("interrupted ..."); empty = complete
  std::string session_json;  // an object as text: sentinels, counts, clocks; empty = none
  std::vector<ProfileTable> tables;

  // The table of that op whose variant contains all the given pairs; nullptr when there is none.
  const ProfileTable* find(const std::string& op,
                           const std::map<std::string, std::string>& variant) const;
};

// The axes an op's tables have, in order; empty for an unknown op. And every known op.
std::vector<std::string> profile_axes(const std::string& op);
std::vector<std::string> profile_ops();

// Catalogue names of the installed profiles ("h100-sxm/vllm-0.24.0"), sorted.
std::vector<std::string> profile_names();

// A profile by catalogue name, or by the path of a folder that holds a profile.json. InputError
// with the nearest names when there is neither.
Profile load_profile(const std::string& name_or_folder);

// InputError ("a profile for another GPU") unless it was measured on that GPU, or when it is
// incomplete: which rows are missing is chance, so nothing should be priced from it.
void check_profile_for(const Profile& profile, const std::string& gpu_name);

// Reads folder/profile.json and its tables. InputError on a damaged, newer or unreadable profile.
Profile read_profile(const std::string& folder, const std::string& name);
// Writes a profile folder: each file whole or not at all, profile.json last. Equal profiles give
// equal bytes. REQUIRES: tables sorted, each with a file name of its own.
void write_profile(const Profile& profile, const std::string& folder);

}  // namespace headway
