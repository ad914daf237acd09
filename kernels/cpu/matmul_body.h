#pragma once

// y = x W^T over packed panels. The block of R rows x P panels lives in registers for the whole of
// k, so each output is one chain of multiply-adds over k, whatever R and P are.
#include "kernels/cpu/cpu_ops.h"
#include "kernels/cpu/lanes.h"

namespace headway::kernels::cpu::HEADWAY_CPU_ISA {

template <int R, int P>
inline void matmul_block(const float* x, std::int64_t x_stride, const Bf16* panels, std::int64_t k,
                         float* y, std::int64_t y_stride, std::int64_t columns) {
  Lanes acc[R][2 * P];
  for (int r = 0; r < R; ++r) {
    for (int p = 0; p < 2 * P; ++p) acc[r][p] = splat(0);
  }
  const std::int64_t panel = k * kPanel;
  for (std::int64_t i = 0; i < k; ++i) {
    Lanes w[2 * P];
    for (int p = 0; p < P; ++p) {
      w[2 * p] = load(panels + p * panel + i * kPanel);
      w[2 * p + 1] = load(panels + p * panel + i * kPanel + kLanes);
    }
    for (int r = 0; r < R; ++r) {
      const Lanes a = splat(x[r * x_stride + i]);
      for (int p = 0; p < 2 * P; ++p) acc[r][p] = fma(a, w[p], acc[r][p]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int p = 0; p < P; ++p) {
      float* to = y + r * y_stride + p * kPanel;
      if (columns - p * kPanel >= kPanel) {
        store(to, acc[r][2 * p]);
        store(to + kLanes, acc[r][2 * p + 1]);
        continue;
      }
      float both[kPanel];
      store(both, acc[r][2 * p]);
      store(both + kLanes, acc[r][2 * p + 1]);
      for (std::int64_t c = 0; c < columns - p * kPanel; ++c) to[c] = both[c];
    }
  }
}

// Panels for R rows. One or two rows alone have too few chains to keep the units busy: they
// take several panels at once.
template <int R, int P>
inline void matmul_rows(const float* x, std::int64_t x_stride, const PackedWeights& w, float* y,
                        std::int64_t y_stride, std::int64_t first_panel, std::int64_t last_panel) {
  std::int64_t panel = first_panel;
  for (; panel + P <= last_panel; panel += P) {
    matmul_block<R, P>(x, x_stride, w.panels.data() + panel * w.k * kPanel, w.k,
                       y + panel * kPanel, y_stride, w.n - panel * kPanel);
  }
  for (; panel < last_panel; ++panel) {
    matmul_block<R, 1>(x, x_stride, w.panels.data() + panel * w.k * kPanel, w.k,
                       y + panel * kPanel, y_stride, w.n - panel * kPanel);
  }
}

inline void matmul_few(const float* x, std::int64_t x_stride, const PackedWeights& w, float* y,
                       std::int64_t y_stride, std::int64_t m, std::int64_t first,
                       std::int64_t last) {
  switch (m) {
    case 1: return matmul_rows<1, 4>(x, x_stride, w, y, y_stride, first, last);
    case 2: return matmul_rows<2, 2>(x, x_stride, w, y, y_stride, first, last);
    case 3: return matmul_rows<3, 2>(x, x_stride, w, y, y_stride, first, last);
    case 4: return matmul_rows<4, 1>(x, x_stride, w, y, y_stride, first, last);
    case 5: return matmul_rows<5, 1>(x, x_stride, w, y, y_stride, first, last);
    default: return matmul_rows<6, 1>(x, x_stride, w, y, y_stride, first, last);
  }
}

inline void matmul(const float* x, std::int64_t x_stride, const PackedWeights& w, float* y,
                   std::int64_t y_stride, std::int64_t m) {
  constexpr std::int64_t kRows = 6;
  constexpr std::int64_t kCacheFloats = 40 * 1024;  // of x that stay in the second-level cache
  const std::int64_t panels = (w.n + kPanel - 1) / kPanel;
  if (m <= kRows) return matmul_few(x, x_stride, w, y, y_stride, m, 0, panels);
  std::int64_t rows = kCacheFloats / (w.k > 0 ? w.k : 1) / kRows * kRows;
  if (rows < kRows) rows = kRows;
  for (std::int64_t top = 0; top < m; top += rows) {
    const std::int64_t bottom = top + rows < m ? top + rows : m;
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      // Blocks of like size: 8 rows are 4 + 4, not 6 + 2, which would starve the units.
      std::int64_t row = top;
      for (std::int64_t blocks = (bottom - top + kRows - 1) / kRows; blocks > 0; --blocks) {
        const std::int64_t few = (bottom - row + blocks - 1) / blocks;
        matmul_few(x + row * x_stride, x_stride, w, y + row * y_stride, y_stride, few, panel,
                   panel + 1);
        row += few;
      }
    }
  }
}

}  // namespace headway::kernels::cpu::HEADWAY_CPU_ISA
