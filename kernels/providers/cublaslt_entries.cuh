#pragma once

// cuBLASLt's products as rows of the kernel table: bf16, and fp8 with scales by tensor and by block
// where the GPU has it (compute capability 8.9, for block scales 9.0). Each is checked against a
// double-precision product before it is timed. Included by an nvcc build only.
//
// Bytes: (n * k + m * k) * size of an operand + 2 * m * n. FLOPs: 2 * m * n * k.

#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/ops/prepared.h"
#include "kernels/providers/cublaslt_gemm.h"

namespace headway::kernels {

// 10 * major + minor of the current device; nothing known without one.
inline int compute_capability() {
  int device = 0, major = 99, minor = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 990;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  return 10 * major + minor;
}

// Against sum over k of x * W in double, with the scales of the format. T: bf16 or fp8.
template <class T>
CheckResult check_cublaslt(GemmFormat format, int m, int n, int k, double tolerance) {
  const GemmScales scales{format, m, n, k};
  TestRandom random(static_cast<std::uint64_t>(m * 131 + n * 17 + k));
  const auto rows = static_cast<std::size_t>(n), columns = static_cast<std::size_t>(k),
             tokens = static_cast<std::size_t>(m);
  const std::vector<T> x = random.normals<T>(tokens * columns),
                       w = random.normals<T>(rows * columns);
  const std::vector<float> x_scales = random.normals<float>(scales.x_count(), 0.05, 0.01);
  const std::vector<float> w_scales = random.normals<float>(scales.w_count(), 0.05, 0.01);
  const bool scaled = format != GemmFormat::kBf16;
  std::vector<double> want(tokens * rows);
  for (int t = 0; t < m; ++t)
    for (int row = 0; row < n; ++row)
      for (int c = 0; c < k; ++c) {
        const double scale =
            scaled ? double{x_scales[scales.x_at(t, c)]} * w_scales[scales.w_at(row, c)] : 1.0;
        want[static_cast<std::size_t>(t) * rows + static_cast<std::size_t>(row)] +=
            scale * to_f(x[static_cast<std::size_t>(t) * columns + static_cast<std::size_t>(c)]) *
            to_f(w[static_cast<std::size_t>(row) * columns + static_cast<std::size_t>(c)]);
      }
  const std::string what =
      "m " + std::to_string(m) + ", n " + std::to_string(n) + ", k " + std::to_string(k);
  try {
    DeviceBuffer<T> device_x(x), device_w(w);
    DeviceBuffer<float> device_x_scales(x_scales), device_w_scales(w_scales);
    DeviceBuffer<bf16> y(want.size());
    DeviceBuffer<std::uint8_t> workspace(CublasLtGemm::kWorkspaceBytes);
    CublasLtGemm gemm(format, m, n, k);
    gemm.choose_algorithm(device_x_scales.data(), device_w_scales.data());
    gemm.run(device_x.data(), device_w.data(), device_x_scales.data(), device_w_scales.data(),
             y.data(), workspace.data(), nullptr);
    return {what, relative_error(y.download(), want), tolerance};
  } catch (const std::exception& error) {
    return {what + ": " + error.what(), std::numeric_limits<double>::infinity(), tolerance};
  }
}

template <class T>
std::unique_ptr<Prepared> prepare_cublaslt(GemmFormat format, int m, int n, int k, int copies,
                                           std::uint64_t seed) {
  struct Buffers {
    GemmScales scales;
    CublasLtGemm gemm;
    std::size_t each;  // elements of one set of weights
    DeviceBuffer<T> x, w;
    DeviceBuffer<float> x_scales, w_scales;
    DeviceBuffer<bf16> y;
    DeviceBuffer<std::uint8_t> workspace;
  };
  const GemmScales scales{format, m, n, k};
  const auto rows = static_cast<std::size_t>(n), columns = static_cast<std::size_t>(k),
             tokens = static_cast<std::size_t>(m);
  auto b = std::make_shared<Buffers>(
      Buffers{scales, CublasLtGemm(format, m, n, k), rows * columns,
              normal_buffer<T>(tokens * columns, seed),
              normal_buffer<T>(rows * columns * static_cast<std::size_t>(copies), seed + 1),
              DeviceBuffer<float>(std::vector<float>(scales.x_count(), 0.05f)),
              DeviceBuffer<float>(std::vector<float>(scales.w_count(), 0.05f)),
              DeviceBuffer<bf16>(tokens * rows),
              DeviceBuffer<std::uint8_t>(CublasLtGemm::kWorkspaceBytes)});
  b->gemm.choose_algorithm(b->x_scales.data(), b->w_scales.data());
  return prepared([b](int copy, Stream stream) {
    b->gemm.run(b->x.data(), b->w.data() + static_cast<std::size_t>(copy) * b->each,
                b->x_scales.data(), b->w_scales.data(), b->y.data(), b->workspace.data(),
                stream.handle);
  });
}

template <class T>
KernelEntry cublaslt_entry(GemmFormat format, const Variant& variant) {
  const int multiple = format == GemmFormat::kBf16        ? 8
                       : format == GemmFormat::kFp8Tensor ? 16
                                                          : 128;
  KernelEntry entry;
  entry.name = "cublaslt_gemm";
  entry.op = "gemm";
  entry.impl = "cublaslt";
  entry.variant = variant;
  entry.check = [format] {
    // fp8 sums keep about 14 bits on sm_90 while they accumulate fast; the rest is the rounding to
    // bf16.
    const double tolerance = format == GemmFormat::kBf16 ? 2 * kRoundingTolerance<bf16> : 1.5e-2;
    std::vector<CheckResult> results;
    for (int m : {4, 16, 72}) results.push_back(check_cublaslt<T>(format, m, 256, 512, tolerance));
    if (format != GemmFormat::kFp8Block)
      results.push_back(check_cublaslt<T>(format, 1, 64, 128, tolerance));
    return results;
  };
  entry.supports = [multiple,
                    format](const Case& c) {  // n, k, m; 16-byte rows, block scales in fours
    return c.key[0] % multiple == 0 && c.key[1] % multiple == 0 &&
           (format != GemmFormat::kFp8Block || c.key[2] % 4 == 0);
  };
  entry.work = [](const Case& c) {
    const auto n = static_cast<double>(c.key[0]), k = static_cast<double>(c.key[1]),
               m = static_cast<double>(c.key[2]);
    const double cold = n * k * sizeof(T), warm = m * k * sizeof(T) + 2 * m * n;
    return Work{2 * m * n * k, cold + warm, cold,
                warm + static_cast<double>(CublasLtGemm::kWorkspaceBytes)};
  };
  entry.prepare = [format](const Case& c, int copies, std::uint64_t seed) {
    return prepare_cublaslt<T>(format, static_cast<int>(c.key[2]), static_cast<int>(c.key[0]),
                               static_cast<int>(c.key[1]), copies, seed);
  };
  return entry;
}

inline void register_cublaslt_gemm(std::vector<KernelEntry>& table) {
  if (!CublasLtGemm::why_not().empty()) return;
  table.push_back(
      cublaslt_entry<bf16>(GemmFormat::kBf16, {{"weights", "bf16"}, {"activations", "bf16"}}));
  const int capability = compute_capability();
  if (capability >= 89)
    table.push_back(
        cublaslt_entry<fp8>(GemmFormat::kFp8Tensor,
                            {{"weights", "fp8"}, {"activations", "fp8"}, {"scaling", "tensor"}}));
  if (capability == 90 || capability == 990)
    table.push_back(cublaslt_entry<fp8>(
        GemmFormat::kFp8Block, {{"weights", "fp8"}, {"activations", "fp8"}, {"scaling", "block"}}));
}

}  // namespace headway::kernels
