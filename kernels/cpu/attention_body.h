#pragma once

// Attention over pages, in three passes a group of rows: scores, softmax, weighted values. A row is
// one query of one head; up to six rows of one KV head share each key and value that is widened.
// Rows of a group may end at different positions: what lies behind a row's own end counts as 0.
#include "kernels/cpu/cpu_ops.h"
#include "kernels/cpu/lanes.h"

namespace headway::kernels::cpu::HEADWAY_CPU_ISA {

inline constexpr int kAttentionRows = 6;

struct RowGroup {
  const float* q[kAttentionRows];
  float* out[kAttentionRows];
  std::int32_t visible[kAttentionRows];  // tokens that the row sees
  float* scores;                         // [rows][stride]
  std::int64_t stride;
  std::int32_t tiles;                    // of 16 tokens, to the furthest row's end
  const std::int32_t* pages;
  std::int32_t kv_head;
};

template <int R>
inline void score_tiles(const RowGroup& g, const KvCache& cache, float scale) {
  const KvLayout& layout = cache.layout;
  for (std::int32_t tile = 0; tile < g.tiles; ++tile) {
    const std::int32_t token = tile * kPanel;
    const Bf16* keys = cache.keys + layout.offset(g.pages[token / layout.page], g.kv_head,
                                                  token % layout.page);
    Lanes acc[R][2];
    for (int r = 0; r < R; ++r) acc[r][0] = acc[r][1] = splat(0);
    for (std::int32_t i = 0; i < layout.head_dim; ++i) {
      const Lanes low = load(keys + i * kPanel), high = load(keys + i * kPanel + kLanes);
      for (int r = 0; r < R; ++r) {
        const Lanes q = splat(g.q[r][i]);
        acc[r][0] = fma(q, low, acc[r][0]);
        acc[r][1] = fma(q, high, acc[r][1]);
      }
    }
    for (int r = 0; r < R; ++r) {
      store(g.scores + r * g.stride + token, acc[r][0] * splat(scale));
      store(g.scores + r * g.stride + token + kLanes, acc[r][1] * splat(scale));
    }
  }
}

// Scores to weights that sum to 1 over what the row sees, 0 behind it.
inline void softmax_row(float* scores, std::int32_t visible, std::int64_t padded) {
  constexpr float kHidden = -1e30F;
  for (std::int64_t i = visible; i < padded; ++i) scores[i] = kHidden;
  Lanes top = load(scores);
  for (std::int64_t i = kLanes; i < padded; i += kLanes) top = larger(top, load(scores + i));
  const Lanes shift = splat(-largest(top));
  Lanes total = splat(0);
  for (std::int64_t i = 0; i < padded; i += kLanes) {
    const Lanes e = exponential(load(scores + i) + shift);
    store(scores + i, e);
    total = total + e;
  }
  const Lanes inverse = splat(1.0F / sum(total));
  for (std::int64_t i = 0; i < padded; i += kLanes) store(scores + i, load(scores + i) * inverse);
}

template <int R>
inline void weigh_values(const RowGroup& g, const KvCache& cache) {
  const KvLayout& layout = cache.layout;
  for (std::int32_t column = 0; column < layout.head_dim; column += kPanel) {
    Lanes acc[R][2];
    for (int r = 0; r < R; ++r) acc[r][0] = acc[r][1] = splat(0);
    for (std::int32_t tile = 0; tile < g.tiles; ++tile) {
      const std::int32_t token = tile * kPanel;
      const Bf16* values = cache.values +
                           layout.offset(g.pages[token / layout.page], g.kv_head,
                                         token % layout.page) +
                           column;
      for (int t = 0; t < kPanel; ++t) {
        const Bf16* row = values + static_cast<std::size_t>(t) * layout.head_dim;
        const Lanes low = load(row), high = load(row + kLanes);
        for (int r = 0; r < R; ++r) {
          const Lanes p = splat(g.scores[r * g.stride + token + t]);
          acc[r][0] = fma(p, low, acc[r][0]);
          acc[r][1] = fma(p, high, acc[r][1]);
        }
      }
    }
    for (int r = 0; r < R; ++r) {
      store(g.out[r] + column, acc[r][0]);
      store(g.out[r] + column + kLanes, acc[r][1]);
    }
  }
}

template <int R>
inline void attend(const RowGroup& g, const KvCache& cache, float scale) {
  score_tiles<R>(g, cache, scale);
  for (int r = 0; r < R; ++r) softmax_row(g.scores + r * g.stride, g.visible[r], g.stride);
  weigh_values<R>(g, cache);
}

inline void attend_rows(int rows, const RowGroup& g, const KvCache& cache, float scale) {
  switch (rows) {
    case 1: return attend<1>(g, cache, scale);
    case 2: return attend<2>(g, cache, scale);
    case 3: return attend<3>(g, cache, scale);
    case 4: return attend<4>(g, cache, scale);
    case 5: return attend<5>(g, cache, scale);
    default: return attend<6>(g, cache, scale);
  }
}

inline void attention(const float* q, const KvCache& cache,
                      std::span<const AttentionRows> sequences, const AttentionShape& shape,
                      float* out, float* scratch) {
  const std::int32_t dim = cache.layout.head_dim;
  const std::int32_t group = shape.heads / cache.layout.kv_heads;
  for (const AttentionRows& sequence : sequences) {
    const std::int32_t rows = sequence.count * group;
    for (std::int32_t kv_head = 0; kv_head < cache.layout.kv_heads; ++kv_head) {
      for (std::int32_t first = 0; first < rows; first += kAttentionRows) {
        const int count = rows - first < kAttentionRows ? rows - first : kAttentionRows;
        RowGroup g;
        for (int r = 0; r < count; ++r) {
          const std::int32_t query = (first + r) / group;
          const std::int64_t row = sequence.first_row + query;
          const std::int64_t head = kv_head * group + (first + r) % group;
          g.q[r] = q + row * shape.q_stride + head * dim;
          g.out[r] = out + row * shape.out_stride + head * dim;
          g.visible[r] = sequence.context + query + 1;
        }
        g.tiles = (g.visible[count - 1] + kPanel - 1) / kPanel;
        g.stride = static_cast<std::int64_t>(g.tiles) * kPanel;
        g.scores = scratch;
        g.pages = sequence.pages;
        g.kv_head = kv_head;
        attend_rows(count, g, cache, shape.scale);
      }
    }
  }
}

}  // namespace headway::kernels::cpu::HEADWAY_CPU_ISA
