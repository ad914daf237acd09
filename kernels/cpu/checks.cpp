#include "kernels/cpu/checks.h"

#include <cmath>
#include <string>

#include "kernels/cpu/openblas.h"
#include "kernels/cpu/random_data.h"
#include "kernels/cpu/reference.h"
#include "kernels/cpu/sampling.h"

namespace headway::kernels::cpu {
namespace {

constexpr double kFloatTolerance = 2e-6;

std::vector<float> floats(std::int64_t count, std::uint64_t seed, float deviation = 1) {
  std::vector<float> values(static_cast<std::size_t>(count));
  NormalValues(seed, deviation).fill(values);
  return values;
}

std::vector<Bf16> halves(std::int64_t count, std::uint64_t seed) {
  std::vector<Bf16> values(static_cast<std::size_t>(count));
  NormalValues(seed).fill(values);
  return values;
}

std::string named(const char* what, std::int64_t a, std::int64_t b, std::int64_t c) {
  return std::string(what) + " " + std::to_string(a) + " x " + std::to_string(b) + " x " +
         std::to_string(c);
}

}  // namespace

std::vector<CheckResult> check_matmul(const CpuOps& ops) {
  std::vector<CheckResult> results;
  struct Size {
    std::int64_t m, n, k;
  };
  for (const auto [m, n, k] :
       {Size{1, 80, 96}, Size{2, 33, 64}, Size{3, 48, 40}, Size{4, 16, 16}, Size{5, 17, 100},
        Size{6, 31, 8}, Size{7, 64, 64}, Size{8, 48, 32}, Size{16, 40, 24}, Size{29, 50, 300},
        Size{1, 1, 1}, Size{50, 20, 4096}}) {
    const std::vector<float> x = floats(m * k, 1);
    const std::vector<Bf16> w = halves(n * k, 2);
    std::vector<float> y(static_cast<std::size_t>(m * n), NAN);
    ops.matmul(x.data(), k, pack_weights(w, n, k), y.data(), n, m);
    results.push_back({named("m x n x k =", m, n, k),
                       reference::relative_error(y, reference::matmul(x, w, m, n, k)),
                       kFloatTolerance});
  }
  return results;
}

std::vector<CheckResult> check_openblas() {
  return {{"37 x 71 x 129 by " + openblas_core() + " kernels", openblas_error(), kFloatTolerance}};
}

std::vector<CheckResult> check_rmsnorm(const CpuOps& ops, bool residual) {
  std::vector<CheckResult> results;
  constexpr double kEpsilon = 1e-5;
  for (const std::int64_t rows : {1, 3, 17}) {
    for (const std::int64_t width : {8, 288, 1000}) {
      const std::vector<float> x = floats(rows * width, 3, 3.0F);
      const std::vector<Bf16> weight = halves(width, 4);
      std::vector<float> stream = floats(residual ? rows * width : 0, 5), y(x.size(), NAN);
      reference::Doubles sums(stream.begin(), stream.end());
      ops.rmsnorm(x.data(), residual ? stream.data() : nullptr, weight.data(), y.data(), rows,
                  width, static_cast<float>(kEpsilon));
      const auto expected = reference::rmsnorm(x, sums, weight, rows, width, kEpsilon);
      double error = reference::relative_error(y, expected);
      if (residual) error = std::max(error, reference::relative_error(stream, sums));
      results.push_back({named("rows x width", rows, width, 1), error, kFloatTolerance});
    }
  }
  return results;
}

std::vector<CheckResult> check_rope(const CpuOps& ops) {
  std::vector<CheckResult> results;
  for (const std::int32_t dim : {16, 48, 64, 128}) {
    constexpr std::int64_t kHeads = 5;
    const std::vector<std::int32_t> positions{0, 1, 700, 3, 4095};
    const std::int64_t rows = std::ssize(positions);
    std::vector<float> x = floats(rows * kHeads * dim, 6);
    const auto expected = reference::rope(x, positions, kHeads, dim, 10000);
    const std::vector<float> table = rope_table(4096, dim);
    ops.rope(x.data(), kHeads * dim, positions.data(), rows, kHeads, dim, table.data());
    results.push_back({"head_dim " + std::to_string(dim) + ", positions to 4095",
                       reference::relative_error(x, expected), kFloatTolerance});
  }
  return results;
}

std::vector<CheckResult> check_silu_mul(const CpuOps& ops) {
  std::vector<CheckResult> results;
  for (const std::int64_t width : {8, 768, 1000}) {
    std::vector<float> x = floats(3 * 2 * width, 7, 4.0F);
    x[0] = -120;  // beyond what the exponential holds
    x[1] = 120;
    x[2] = 0;
    std::vector<float> y(static_cast<std::size_t>(3 * width), NAN);
    ops.silu_mul(x.data(), y.data(), 3, width);
    results.push_back({"3 x " + std::to_string(width),
                       reference::relative_error(y, reference::silu_mul(x, 3, width)),
                       kFloatTolerance});
  }
  return results;
}

std::vector<CheckResult> check_embed(const CpuOps& ops) {
  constexpr std::int64_t kVocab = 50, kWidth = 24;
  const std::vector<Bf16> table = halves(kVocab * kWidth, 8);
  const std::vector<std::int32_t> tokens{49, 0, 7, 7};
  std::vector<float> y(tokens.size() * kWidth, NAN);
  ops.embed(table.data(), tokens.data(), std::ssize(tokens), kWidth, y.data());
  reference::Doubles expected;
  for (const std::int32_t token : tokens) {
    for (std::int64_t i = 0; i < kWidth; ++i) {
      expected.push_back(widen(table[static_cast<std::size_t>(token * kWidth + i)]));
    }
  }
  return {{"4 of 50 rows", reference::relative_error(y, expected), 0}};
}

std::vector<CheckResult> check_argmax(const CpuOps& ops) {
  constexpr std::int64_t kWidth = 64;
  std::vector<float> logits = floats(4 * kWidth, 9);
  logits[63] = 10;                         // the last of row 0
  logits[64] = 11;                         // the first of row 1
  logits[128 + 30] = logits[128 + 5] = 9;  // two of row 2: the first counts
  std::vector<std::int32_t> got(4);
  ops.argmax(logits.data(), 4, kWidth, got.data());
  std::int32_t best = 0;
  for (std::int32_t i = 1; i < kWidth; ++i) {
    if (logits[static_cast<std::size_t>(192 + i)] > logits[static_cast<std::size_t>(192 + best)])
      best = i;
  }
  const std::vector<std::int32_t> expected{63, 0, 5, best};
  double wrong = 0;
  for (std::size_t i = 0; i < 4; ++i) wrong += got[i] != expected[i];
  return {{"4 rows, wrong ones", wrong, 0}};
}

std::vector<CheckResult> check_sampling() {
  const std::vector<float> logits{1, 3, 2, -1, 0, 2.5F};
  const SamplingOptions options{0.8F, 4, 0.9F};
  // The four likeliest are 1, 5, 2, 0; of them the nucleus of 0.9 is {1, 5, 2}.
  double weights[6] = {0, 0, 0, 0, 0, 0}, total = 0;
  for (const int i : {1, 5, 2})
    total += weights[i] = std::exp(logits[static_cast<std::size_t>(i)] / 0.8);
  constexpr int kDraws = 4096;
  std::vector<double> share(6, 0);
  std::vector<RankedToken> buffer;
  for (int i = 0; i < kDraws; ++i) {
    const double uniform = (i + 0.5) / kDraws;
    share[static_cast<std::size_t>(sample_top_k_top_p(logits, options, uniform, buffer))] +=
        1.0 / kDraws;
  }
  double error = 0;
  for (std::size_t i = 0; i < 6; ++i)
    error = std::max(error, std::abs(share[i] - weights[i] / total));
  return {{"shares of 4096 even draws, top 4, nucleus 0.9", error, 1.0 / kDraws}};
}

}  // namespace headway::kernels::cpu
