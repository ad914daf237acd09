#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/bf16.h"

// The operators of a Llama decoder on one CPU thread: activations in float, weights and KV in bf16.
//
// Every output row depends on its own inputs alone and is computed by the same operations in the
// same order whatever stands beside it in the batch. So a token's result is the same, bit for bit,
// whether its prompt was computed in one piece, in chunks, together with other requests or again
// after a preemption. (OpenBLAS, openblas.h, makes no such promise.)
namespace headway::kernels::cpu {

inline constexpr int kPanel = 16;  // outputs (of a product), tokens (of a page) that lie together

// Weights of a product y = W x, W [n][k] row by row, repacked: [n / 16][k][16], the last panel
// filled up with zeros.
struct PackedWeights {
  std::int64_t n = 0, k = 0;
  std::vector<Bf16> panels;
};
PackedWeights pack_weights(std::span<const Bf16> rows, std::int64_t n, std::int64_t k);

// KV of one layer: `pages` pages of `page` tokens (a multiple of 16) each. A page holds, for each
// KV head, tiles of 16 tokens: keys [head_dim][16], values [16][head_dim]. REQUIRES of those who
// write it: head_dim a multiple of 16; memory begins as zeros (what is masked is still multiplied
// by 0).
struct KvLayout {
  std::int32_t kv_heads = 0, head_dim = 0, page = 16;

  std::size_t tile() const { return static_cast<std::size_t>(head_dim) * kPanel; }
  std::size_t elements(std::int64_t pages) const {  // of keys; as many of values
    return static_cast<std::size_t>(pages) * kv_heads * page * head_dim;
  }
  // Where the tile with that token of a page begins.
  std::size_t offset(std::int64_t page_id, std::int32_t kv_head, std::int32_t token) const {
    const auto tiles = static_cast<std::size_t>(page / kPanel);
    return ((static_cast<std::size_t>(page_id) * kv_heads + kv_head) * tiles + token / kPanel) *
           tile();
  }
};
struct KvCache {
  KvLayout layout;
  Bf16* keys = nullptr;
  Bf16* values = nullptr;
};

// One sequence's queries in a batch: `count` rows from `first_row`, at positions `context` on, over
// its pages. Causal: the query at position p sees tokens 0 .. p.
struct AttentionRows {
  std::int32_t first_row = 0, count = 0, context = 0;
  const std::int32_t* pages = nullptr;
};

struct AttentionShape {
  std::int32_t heads = 0;     // a multiple of kv_heads
  std::int64_t q_stride = 0;  // elements between two query rows
  std::int64_t out_stride = 0;
  float scale = 1;  // of the scores: 1 / sqrt(head_dim)
};

// The operators by instruction set; cpu_ops() is the best that this machine has. Row-major, rows
// `*_stride` elements apart where one is given, else packed.
struct CpuOps {
  const char* isa;  // "avx2+fma", "portable"

  // y[m][n] = x[m][k] W^T by register blocks of up to 6 rows x 16 outputs, widening weights as they
  // come.
  void (*matmul)(const float* x, std::int64_t x_stride, const PackedWeights& w, float* y,
                 std::int64_t y_stride, std::int64_t m);
  // residual (where not null) += x, then out = residual / rms(residual) * weight; without residual
  // out = x / rms(x) * weight. out may be x. REQUIRES: width a multiple of 8.
  void (*rmsnorm)(const float* x, float* residual, const Bf16* weight, float* out,
                  std::int64_t rows, std::int64_t width, float epsilon);
  // Rotates pairs (i, i + head_dim / 2) of `heads` consecutive heads in each row, in place (the
  // layout of Hugging Face's Llama). table: [position][head_dim], cosines then sines.
  void (*rope)(float* rows, std::int64_t stride, const std::int32_t* positions, std::int64_t count,
               std::int32_t heads, std::int32_t head_dim, const float* table);
  // out[rows][width] = silu(gate) * up of [rows][2 width], gate first. REQUIRES: width a multiple
  // of 8.
  void (*silu_mul)(const float* gate_up, float* out, std::int64_t rows, std::int64_t width);
  // Stores keys and values of each row at slots[row] = page * page_size + place in the page.
  void (*kv_write)(const float* k, const float* v, std::int64_t stride, const std::int64_t* slots,
                   std::int64_t rows, const KvCache& cache);
  // Softmax attention of all the sequences' queries over their pages: prefill with or without a
  // history, decode, and verification of drafts are all this. `scratch`: attention_scratch() floats
  // for the longest of them.
  void (*attention)(const float* q, const KvCache& cache, std::span<const AttentionRows> sequences,
                    const AttentionShape& shape, float* out, float* scratch);
  // Rows of a [vocab][width] table.
  void (*embed)(const Bf16* table, const std::int32_t* tokens, std::int64_t rows,
                std::int64_t width, float* out);
  // The first of the largest of each row. REQUIRES: width a multiple of 8.
  void (*argmax)(const float* logits, std::int64_t rows, std::int64_t width, std::int32_t* out);
};
const CpuOps& cpu_ops();
const CpuOps& portable_ops();  // without vector instructions of its own

// Floats of scratch for attention over up to `tokens` tokens (context and queries of one sequence).
constexpr std::size_t attention_scratch(std::int64_t tokens) {
  constexpr std::int64_t kRows = 6;  // kAttentionRows
  return static_cast<std::size_t>((tokens + kPanel) * kRows);
}

// cosines and sines for rope(): angle(p, i) = p / theta^(2 i / head_dim).
std::vector<float> rope_table(std::int32_t positions, std::int32_t head_dim, double theta = 10000);

}  // namespace headway::kernels::cpu
