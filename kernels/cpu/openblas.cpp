#include "kernels/cpu/openblas.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace headway::kernels::cpu {
namespace {

constexpr int kRowMajor = 101, kNoTranspose = 111;
constexpr std::int64_t kBlock = 32;  // panels widened at a time

// The three functions used, as its cblas.h declares them.
struct OpenBlas {
  void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
  void (*set_num_threads)(int threads);
  char* (*get_corename)();

  bool ok() const {
    return sgemm != nullptr && set_num_threads != nullptr && get_corename != nullptr;
  }
};

template <typename Function>
void find(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

// Opened once and never closed: it keeps threads of its own.
const OpenBlas& openblas() {
  static const OpenBlas loaded = [] {
    OpenBlas b{};
    if (void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL)) {
      find(library, b.sgemm, "cblas_sgemm");
      find(library, b.set_num_threads, "openblas_set_num_threads");
      find(library, b.get_corename, "openblas_get_corename");
    }
    if (b.ok()) b.set_num_threads(1);
    return b;
  }();
  return loaded;
}

}  // namespace

std::string openblas_core() { return openblas().ok() ? openblas().get_corename() : ""; }

void openblas_matmul(const float* x, std::int64_t x_stride, const PackedWeights& w, float* y,
                     std::int64_t y_stride, std::int64_t m, std::vector<float>& scratch) {
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
    openblas().sgemm(kRowMajor, kNoTranspose, kNoTranspose, static_cast<int>(m),
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
