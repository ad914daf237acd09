#include "kernels/cpu/openblas.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#if HEADWAY_OPENBLAS

// The three functions used, as OpenBLAS declares them; its header's name and place differ between
// systems.
extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
void openblas_set_num_threads(int threads);
char* openblas_get_corename(void);
}

namespace headway::kernels::cpu {
namespace {

constexpr int kRowMajor = 101, kNoTranspose = 111;
constexpr std::int64_t kBlock = 32;  // panels widened at a time

bool on_one_thread() {
  openblas_set_num_threads(1);
  return true;
}

}  // namespace

std::string openblas_core() {
  static const bool ready = on_one_thread();
  return ready ? openblas_get_corename() : "";
}

void openblas_matmul(const float* x, std::int64_t x_stride, const PackedWeights& w, float* y,
                     std::int64_t y_stride, std::int64_t m, std::vector<float>& scratch) {
  static const bool ready = on_one_thread();
  (void)ready;
  const std::int64_t panels = (w.n + kPanel - 1) / kPanel;
  scratch.resize(static_cast<std::size_t>(kBlock * kPanel * w.k));
  for (std::int64_t first = 0; first < panels; first += kBlock) {
    const std::int64_t count = std::min(kBlock, panels - first), width = count * kPanel;
    for (std::int64_t p = 0; p < count; ++p) {
      const Bf16* from = w.panels.data() + (first + p) * w.k * kPanel;
      for (std::int64_t i = 0; i < w.k; ++i) {
        float* to = scratch.data() + i * width + p * kPanel;
        for (int c = 0; c < kPanel; ++c) to[c] = widen(from[i * kPanel + c]);
      }
    }
    const std::int64_t columns = std::min(width, w.n - first * kPanel);
    cblas_sgemm(kRowMajor, kNoTranspose, kNoTranspose, static_cast<int>(m),
                static_cast<int>(columns), static_cast<int>(w.k), 1.0F, x,
                static_cast<int>(x_stride), scratch.data(), static_cast<int>(width), 0.0F,
                y + first * kPanel, static_cast<int>(y_stride));
  }
}

double openblas_error() {
  constexpr std::int64_t m = 37, n = 71, k = 129;
  std::vector<Bf16> rows(n * k);
  std::vector<float> x(m * k), y(m * n), scratch;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = narrow(std::sin(0.37F * static_cast<float>(i)));
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(0.61F * static_cast<float>(i));
  openblas_matmul(x.data(), k, pack_weights(rows, n, k), y.data(), n, m, scratch);
  double error = 0, top = 0;
  for (std::int64_t r = 0; r < m; ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) sum += double{x[r * k + i]} * widen(rows[c * k + i]);
      error = std::max(error, std::abs(sum - y[r * n + c]));
      top = std::max(top, std::abs(sum));
    }
  }
  return error / top;
}

}  // namespace headway::kernels::cpu

#else

namespace headway::kernels::cpu {

std::string openblas_core() { return ""; }
void openblas_matmul(const float*, std::int64_t, const PackedWeights&, float*, std::int64_t,
                     std::int64_t, std::vector<float>&) {
  std::abort();
}
double openblas_error() { return 0; }

}  // namespace headway::kernels::cpu

#endif
