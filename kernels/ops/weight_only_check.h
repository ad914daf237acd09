#pragma once

// Host side of the weight-only GEMMs: shuffling weights offline, the double-precision reference,
// the buffers that are timed, the registry's row. Included by w4a16_gemm.cuh and w8_gemm.cuh.

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/ops/fill.cuh"
#include "kernels/ops/test_data.h"
#include "kernels/ops/weight_only_gemm.cuh"
#include "kernels/registry.h"

namespace headway::kernels {

// Weights [n][k] as unsigned numbers of Format::kBits bits -> the kernel's order.
template <class Format>
std::vector<std::uint32_t> shuffle_weights(const std::vector<std::uint8_t>& weights, int n, int k) {
  const int units = k / Format::kUnitK;
  std::vector<std::uint32_t> words(
      static_cast<std::size_t>(n / 16 * units) * weight_only::kUnitWords, 0);
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < k; ++column) {
      const weight_only::Place p = weight_only::place_of(row % 16, column % Format::kUnitK);
      const auto [word, shift] = Format::bits_of(p);
      const int unit = row / 16 * units + column / Format::kUnitK;
      const int at = unit * weight_only::kUnitWords + word / 4 * 128 + p.lane * 4 + word % 4;
      words[static_cast<std::size_t>(at)] |=
          std::uint32_t{weights[static_cast<std::size_t>(row) * static_cast<std::size_t>(k) +
                                static_cast<std::size_t>(column)]}
          << shift;
    }
  return words;
}

// Scales [n][k / kUnitK] -> [n / 16][k / kUnitK][16]; one a row stays as it is.
template <class Format, class T>
std::vector<T> shuffle_scales(const std::vector<T>& scales, int n, int k) {
  if (!Format::kGrouped) return scales;
  const auto units = static_cast<std::size_t>(k / Format::kUnitK);
  std::vector<T> shuffled(scales.size());
  for (std::size_t row = 0; row < static_cast<std::size_t>(n); ++row)
    for (std::size_t u = 0; u < units; ++u)
      shuffled[(row / 16 * units + u) * 16 + row % 16] = scales[row * units + u];
  return shuffled;
}

// One product against sum over k of x * (weight - offset) * scale in double.
template <class T, class Format>
CheckResult check_weight_only(int m, int n, int k, double tolerance) {
  TestRandom random(static_cast<std::uint64_t>(m * 131 + n * 17 + k));
  const auto rows = static_cast<std::size_t>(n), columns = static_cast<std::size_t>(k);
  const std::size_t groups = Format::kGrouped ? columns / Format::kUnitK : 1;
  std::vector<std::uint8_t> weights(rows * columns);
  for (auto& w : weights) w = static_cast<std::uint8_t>(random.below(1 << Format::kBits));
  const std::vector<T> scales = random.normals<T>(rows * groups, 0.02, 0.005);
  const std::vector<T> x = random.normals<T>(static_cast<std::size_t>(m) * columns);

  DeviceBuffer<std::uint32_t> device_weights(shuffle_weights<Format>(weights, n, k));
  DeviceBuffer<T> device_scales(shuffle_scales<Format>(scales, n, k)), device_x(x),
      y(static_cast<std::size_t>(m) * rows);
  weight_only_gemm<T, Format>(
      {device_weights.data(), device_scales.data(), device_x.data(), y.data(), m, n, k}, {});

  std::vector<double> want(y.size());
  for (std::size_t t = 0; t < static_cast<std::size_t>(m); ++t)
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t c = 0; c < columns; ++c)
        want[t * rows + row] += double{to_f(x[t * columns + c])} *
                                (double(weights[row * columns + c]) - Format::kOffset) *
                                to_f(scales[row * groups + c * groups / columns]);
  return {std::string(kTypeName<T>) + ", m " + std::to_string(m) + ", n " + std::to_string(n) +
              ", k " + std::to_string(k),
          relative_error(y.download(), want), tolerance};
}

// No token, one, ragged tiles of tokens and of features, k that the warps share unevenly, two
// slabs.
template <class T, class Format>
std::vector<CheckResult> check_weight_only_gemm() {
  struct Shape {
    int m, n, k;
  };
  // The sums' error is 1e-6; what remains is half a unit in the last place of T.
  const double tolerance = std::is_same_v<T, bf16> ? 4e-3 : 5e-4;
  std::vector<CheckResult> results;
  for (const Shape& s : {Shape{0, 16, 256},
                         {1, 16, 128},
                         {1, 32, 1152},
                         {7, 48, 256},
                         {8, 16, 384},
                         {13, 32, 256},
                         {27, 48, 256},
                         {64, 16, 128},
                         {70, 48, 128}}) {
    results.push_back(check_weight_only<T, Format>(s.m, s.n, s.k, tolerance));
  }
  return results;
}

template <class T, class Format>
class PreparedWeightOnlyGemm : public Prepared {
 public:
  PreparedWeightOnlyGemm(int m, int n, int k, int copies, std::uint64_t seed)
      : m_(m),
        n_(n),
        k_(k),
        words_(static_cast<std::size_t>(n / 16 * (k / Format::kUnitK)) * weight_only::kUnitWords),
        scales_each_(static_cast<std::size_t>(n) *
                     static_cast<std::size_t>(Format::kGrouped ? k / Format::kUnitK : 1)),
        weights_(words_ * static_cast<std::size_t>(copies)),
        scales_(scales_each_ * static_cast<std::size_t>(copies)),
        x_(static_cast<std::size_t>(m) * static_cast<std::size_t>(k)),
        y_(static_cast<std::size_t>(m) * static_cast<std::size_t>(n)) {
    const auto word = static_cast<std::uint32_t>(seed);
    fill_bits(weights_.data(), weights_.size(), word);
    fill_normal(scales_.data(), scales_.size(), word + 1, 0.02f, 0.005f);
    fill_normal(x_.data(), x_.size(), word + 2);
  }
  void launch(int copy, Stream stream) override {
    const auto c = static_cast<std::size_t>(copy);
    weight_only_gemm<T, Format>({weights_.data() + c * words_, scales_.data() + c * scales_each_,
                                 x_.data(), y_.data(), m_, n_, k_},
                                stream);
  }

 private:
  int m_, n_, k_;
  std::size_t words_, scales_each_;  // of one set
  DeviceBuffer<std::uint32_t> weights_;
  DeviceBuffer<T> scales_, x_, y_;
};

template <class T, class Format>
KernelEntry weight_only_entry(const char* name, const char* weights) {
  struct Shape {
    int n, k, m;
  };
  const auto shape = [](const Case& c) {
    return Shape{static_cast<int>(c.key[0]), static_cast<int>(c.key[1]),
                 static_cast<int>(c.key[2])};
  };
  KernelEntry entry;
  entry.name = name;
  entry.op = "gemm";
  entry.impl = "own";
  entry.variant = {{"weights", weights}, {"activations", kTypeName<T>}};
  entry.check = check_weight_only_gemm<T, Format>;
  entry.supports = [shape](const Case& c) {
    const Shape s = shape(c);
    return s.n % 16 == 0 && s.k % Format::kUnitK == 0 && s.m <= 512;
  };
  entry.work = [shape](const Case& c) {
    const Shape s = shape(c);
    const double elements = 1.0 * s.n * s.k;
    const double cold =
        elements * Format::kBits / 8 + 2.0 * (Format::kGrouped ? elements / Format::kUnitK : s.n);
    const double warm = 2.0 * s.m * (1.0 * s.k + s.n);
    return Work{2 * elements * s.m, cold + warm, cold, warm};
  };
  entry.prepare = [shape](const Case& c, int copies,
                          std::uint64_t seed) -> std::unique_ptr<Prepared> {
    const Shape s = shape(c);
    return std::make_unique<PreparedWeightOnlyGemm<T, Format>>(s.m, s.n, s.k, copies, seed);
  };
  return entry;
}

}  // namespace headway::kernels
