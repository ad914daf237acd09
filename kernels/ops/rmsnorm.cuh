// RMSNorm, plain and with the residual added first, as a decoder layer has it:
//
//   plain      out[t][i] = x[t][i] * weight[i] / sqrt(mean_i(x[t][i]^2) + epsilon)
//   residual   residual[t][i] += x[t][i], stored; out = the same of the new residual
//
// One block a token. The row passes through shared memory once, so that global memory sees each
// element once: bytes = tokens * hidden * (2, with residual 4) * sizeof(T) + the weight;
// FLOPs = 4 (5) a element.
// Sums are in f32. The residual is rounded to T before it is normalised, as the next layer reads
// it.

#include <algorithm>
#include <cmath>

#include "kernels/ops/prepared.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

template <class T>
struct RmsNorm {
  const T* x;       // [tokens][hidden]
  T* residual;      // [tokens][hidden], read and written; nullptr = plain
  const T* weight;  // [hidden]
  T* out;           // [tokens][hidden]
  int tokens;
  int hidden;  // a multiple of 16 / sizeof(T)
  float epsilon;
};

namespace {

constexpr int kRmsNormThreads = 256;

// The sum over the block; every thread gets it. `parts` holds one value a warp.
__device__ __forceinline__ float block_sum(float value, float* parts) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  const int warps = static_cast<int>(blockDim.x) / 32;
  for (int i = 0; i < warps; ++i) sum += parts[i];
  return sum;
}

template <class T, bool kResidual>
__global__ void __launch_bounds__(kRmsNormThreads) rmsnorm_kernel(RmsNorm<T> p) {
  constexpr int kVector = Pack16<T>::kCount;
  DYN_SMEM(T, row);
  SHARED(float, parts, kRmsNormThreads / 32);
  const std::int64_t offset = std::int64_t{blockIdx.x} * p.hidden;
  const int step = static_cast<int>(blockDim.x) * kVector;
  const int first = static_cast<int>(threadIdx.x) * kVector;

  float squares = 0;
  for (int i = first; i < p.hidden; i += step) {
    Pack16<T> x = load16(p.x + offset + i);
    if constexpr (kResidual) {
      const Pack16<T> residual = load16(p.residual + offset + i);
#pragma unroll
      for (int j = 0; j < kVector; ++j) x.v[j] = from_f<T>(to_f(x.v[j]) + to_f(residual.v[j]));
      store16(p.residual + offset + i, x);
    }
    store16(row + i, x);  // this thread reads it again: no barrier is needed for the row
#pragma unroll
    for (int j = 0; j < kVector; ++j) squares += to_f(x.v[j]) * to_f(x.v[j]);
  }
  const float mean = block_sum(squares, parts) / static_cast<float>(p.hidden);
  const float scale = rsqrtf(mean + p.epsilon);

  for (int i = first; i < p.hidden; i += step) {
    Pack16<T> x = load16(row + i);
    const Pack16<T> weight = load16(p.weight + i);
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      x.v[j] = from_f<T>(to_f(x.v[j]) * scale * to_f(weight.v[j]));
    }
    store16(p.out + offset + i, x);
  }
}

// As few warps as give each thread one vector: short rows do not pay for idle threads.
int rmsnorm_threads(int vectors) {
  const int warps = (vectors + 31) / 32;
  return 32 * std::min(kRmsNormThreads / 32, std::max(warps, 1));
}

template <class T>
void rmsnorm(const RmsNorm<T>& p, Stream stream) {
  if (p.tokens == 0) return;
  auto kernel = p.residual != nullptr ? &rmsnorm_kernel<T, true> : &rmsnorm_kernel<T, false>;
  launch(kernel, static_cast<unsigned>(p.tokens),
         static_cast<unsigned>(rmsnorm_threads(p.hidden / Pack16<T>::kCount)),
         p.hidden * sizeof(T), stream, p);
}

#ifndef HEADWAY_LAUNCHERS_ONLY  // an engine that only calls the kernel
// --- Reference and checks --------------------------------------------------------------------

// Normalises `rows` (already the sum, where there is a residual).
inline std::vector<double> rmsnorm_reference(const std::vector<double>& rows,
                                             const std::vector<double>& weight, int tokens,
                                             int hidden, double epsilon) {
  std::vector<double> out(rows.size());
  for (int t = 0; t < tokens; ++t) {
    const double* x = rows.data() + std::size_t(t) * hidden;
    double squares = 0;
    for (int i = 0; i < hidden; ++i) squares += x[i] * x[i];
    const double scale = 1 / std::sqrt(squares / hidden + epsilon);
    for (int i = 0; i < hidden; ++i) out[std::size_t(t) * hidden + i] = x[i] * scale * weight[i];
  }
  return out;
}

template <class T>
void check_rmsnorm_case(bool residual, int tokens, int hidden, std::vector<CheckResult>& results) {
  const std::size_t count = std::size_t(tokens) * hidden;
  const std::vector<T> x = normal_values<T>(count, 1);
  const std::vector<T> before = normal_values<T>(count, 2, 3.0);
  const std::vector<T> weight = normal_values<T>(hidden, 3);
  const DeviceBuffer<T> d_x(x), d_weight(weight);
  DeviceBuffer<T> d_residual(before), d_out(count);
  rmsnorm<T>({d_x.data(), residual ? d_residual.data() : nullptr, d_weight.data(), d_out.data(),
              tokens, hidden, 1e-5f},
             {});
  device_synchronize();

  std::vector<double> rows = to_doubles(x);
  const std::string what = std::to_string(tokens) + " x " + std::to_string(hidden);
  if (residual) {
    for (std::size_t i = 0; i < count; ++i) {
      rows[i] = to_f(from_f<T>(static_cast<float>(rows[i] + to_f(before[i]))));
    }
    results.push_back({what + ", the sum", relative_error(d_residual.download(), rows), 0});
  }
  const std::vector<double> reference =
      rmsnorm_reference(rows, to_doubles(weight), tokens, hidden, 1e-5);
  results.push_back({what, relative_error(d_out.download(), reference), kRoundingTolerance<T>});
}

template <class T>
std::vector<CheckResult> check_rmsnorm(bool residual) {
  std::vector<CheckResult> results;
  check_rmsnorm_case<T>(residual, 0, 64, results);     // no token
  check_rmsnorm_case<T>(residual, 1, 8, results);      // one token, one vector (two of f32)
  check_rmsnorm_case<T>(residual, 3, 1000, results);   // rows that leave threads idle
  check_rmsnorm_case<T>(residual, 2, 4104, results);   // several vectors a thread, the last ragged
  return results;
}

// --- Registration ----------------------------------------------------------------------------

template <class T>
std::unique_ptr<Prepared> prepare_rmsnorm(bool residual, const Case& c, int copies,
                                          std::uint64_t seed) {
  const int hidden = static_cast<int>(c.key[0]);
  const int tokens = static_cast<int>(c.key[1]);
  const std::size_t count = std::size_t(tokens) * hidden;
  using Buffer = DeviceBuffer<T>;
  std::vector<Buffer> weights;
  for (int i = 0; i < copies; ++i) weights.push_back(normal_buffer<T>(hidden, seed + 3 + i));
  Buffer x = normal_buffer<T>(count, seed);
  Buffer sum;
  if (residual) sum = normal_buffer<T>(count, seed + 1);
  return prepared([=, x = std::move(x), sum = std::move(sum), out = Buffer(count),
                   weights = std::move(weights)](int copy, Stream stream) mutable {
    rmsnorm<T>({x.data(), residual ? sum.data() : nullptr, weights[copy].data(), out.data(),
                tokens, hidden, 1e-5f},
               stream);
  });
}

template <class T>
KernelEntry rmsnorm_entry(bool residual) {
  KernelEntry entry;
  entry.name = "rmsnorm";
  entry.op = "rmsnorm";
  entry.impl = "own";
  entry.variant = {{"dtype", kTypeName<T>}, {"residual", residual ? "yes" : "no"}};
  entry.check = [=] { return check_rmsnorm<T>(residual); };
  entry.supports = [](const Case& c) {
    return c.key[0] % Pack16<T>::kCount == 0 && c.key[0] * sizeof(T) <= 160 * 1024;
  };
  entry.work = [=](const Case& c) {
    const double elements = static_cast<double>(c.key[0]) * static_cast<double>(c.key[1]);
    const double row = static_cast<double>(c.key[0]) * sizeof(T);
    const double passes = residual ? 4 : 2;
    return Work{(residual ? 5 : 4) * elements, passes * elements * sizeof(T) + row, row,
                (residual ? 3 : 2) * elements * sizeof(T)};
  };
  entry.prepare = [=](const Case& c, int copies, std::uint64_t seed) {
    return prepare_rmsnorm<T>(residual, c, copies, seed);
  };
  return entry;
}

}  // namespace

void add_rmsnorm(std::vector<KernelEntry>& table) {
  for (const bool residual : {false, true}) {
    table.push_back(rmsnorm_entry<bf16>(residual));
    table.push_back(rmsnorm_entry<f16>(residual));
    table.push_back(rmsnorm_entry<float>(residual));
  }
}
#else
}  // namespace
#endif

}  // namespace headway::kernels
