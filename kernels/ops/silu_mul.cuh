// SiLU-and-mul, the activation of a gated feed-forward layer:
//
//   out[t][i] = silu(gate[t][i]) * up[t][i],   silu(g) = g / (1 + exp(-g))
//
// where each row of the input is the gate's `width` values, then up's: what the merged projection
// leaves. One thread takes 16 bytes of each. bytes = 3 * tokens * width * sizeof(T); about 5 FLOPs
// an element. Computed in f32, rounded once.

#include <cmath>

#include "kernels/ops/prepared.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

template <class T>
struct SiluMul {
  const T* gate_up;  // [tokens][2 * width]
  T* out;            // [tokens][width]
  int tokens;
  int width;  // a multiple of 8
};

namespace {

constexpr int kSiluThreads = 256;

template <class T>
__global__ void __launch_bounds__(kSiluThreads) silu_mul_kernel(SiluMul<T> p) {
  constexpr int kVector = Pack16<T>::kCount;
  const std::int64_t index = std::int64_t{blockIdx.x} * kSiluThreads + threadIdx.x;
  const int row_vectors = p.width / kVector;
  const std::int64_t token = index / row_vectors;
  if (token >= p.tokens) return;
  const int column = static_cast<int>(index - token * row_vectors) * kVector;
  const T* gate_row = p.gate_up + token * 2 * p.width;
  Pack16<T> gate = load16(gate_row + column);
  const Pack16<T> up = load16(gate_row + p.width + column);
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    const float g = to_f(gate.v[j]);
    gate.v[j] = from_f<T>(__fdividef(g, 1.0f + __expf(-g)) * to_f(up.v[j]));
  }
  store16(p.out + token * p.width + column, gate);
}

template <class T>
void silu_mul(const SiluMul<T>& p, Stream stream) {
  const std::int64_t vectors = std::int64_t{p.tokens} * p.width / Pack16<T>::kCount;
  if (vectors == 0) return;
  launch(&silu_mul_kernel<T>,
         static_cast<unsigned>((vectors + kSiluThreads - 1) / kSiluThreads), kSiluThreads, 0,
         stream, p);
}

#ifndef HEADWAY_LAUNCHERS_ONLY  // an engine that only calls the kernel
// --- Reference and checks --------------------------------------------------------------------

inline std::vector<double> silu_mul_reference(const std::vector<double>& gate_up, int tokens,
                                              int width) {
  std::vector<double> out(std::size_t(tokens) * width);
  for (int t = 0; t < tokens; ++t) {
    const double* gate = gate_up.data() + std::size_t(t) * 2 * width;
    for (int i = 0; i < width; ++i) {
      out[std::size_t(t) * width + i] = gate[i] / (1 + std::exp(-gate[i])) * gate[width + i];
    }
  }
  return out;
}

template <class T>
CheckResult check_silu_mul_case(int tokens, int width, double scale) {
  const std::vector<T> input = normal_values<T>(std::size_t(tokens) * 2 * width, 1, scale);
  const DeviceBuffer<T> d_input(input);
  DeviceBuffer<T> d_out(std::size_t(tokens) * width);
  silu_mul<T>({d_input.data(), d_out.data(), tokens, width}, {});
  device_synchronize();
  return {std::to_string(tokens) + " x " + std::to_string(width) + ", scale " +
              std::to_string(static_cast<int>(scale)),
          relative_error(d_out.download(), silu_mul_reference(to_doubles(input), tokens, width)),
          kRoundingTolerance<T>};
}

template <class T>
std::vector<CheckResult> check_silu_mul() {
  return {check_silu_mul_case<T>(0, 64, 1),    check_silu_mul_case<T>(1, 8, 1),
          check_silu_mul_case<T>(3, 1000, 1),  check_silu_mul_case<T>(17, 136, 4),
          check_silu_mul_case<T>(2, 64, 90)};  // exp(-g) overflows to infinity: silu is 0
}

// --- Registration ----------------------------------------------------------------------------

template <class T>
std::unique_ptr<Prepared> prepare_silu_mul(const Case& c, std::uint64_t seed) {
  const int width = static_cast<int>(c.key[0]);
  const int tokens = static_cast<int>(c.key[1]);
  using Buffer = DeviceBuffer<T>;
  Buffer input = normal_buffer<T>(std::size_t(tokens) * 2 * width, seed);
  Buffer out(std::size_t(tokens) * width);
  return prepared([=, input = std::move(input), out = std::move(out)](int, Stream stream) mutable {
    silu_mul<T>({input.data(), out.data(), tokens, width}, stream);
  });
}

template <class T>
KernelEntry silu_mul_entry() {
  KernelEntry entry;
  entry.name = "silu_mul";
  entry.op = "silu_mul";
  entry.impl = "own";
  entry.variant = {{"dtype", kTypeName<T>}};
  entry.check = &check_silu_mul<T>;
  entry.supports = [](const Case& c) { return c.key[0] % Pack16<T>::kCount == 0; };
  entry.work = [](const Case& c) {
    const double elements = static_cast<double>(c.key[0]) * static_cast<double>(c.key[1]);
    return Work{5 * elements, 3 * elements * sizeof(T), 0, 3 * elements * sizeof(T)};
  };
  entry.prepare = [](const Case& c, int /*copies: nothing is cold*/, std::uint64_t seed) {
    return prepare_silu_mul<T>(c, seed);
  };
  return entry;
}

}  // namespace

void add_silu_mul(std::vector<KernelEntry>& table) {
  table.push_back(silu_mul_entry<bf16>());
  table.push_back(silu_mul_entry<f16>());
}
#else
}  // namespace
#endif

}  // namespace headway::kernels
