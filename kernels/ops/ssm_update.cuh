#pragma once

// Mamba-2 selective state update: one new token of each of `batch` sequences through a layer's
// state.
//
//   step       = softplus(dt + dt_bias[head])
//   state[p][n] = state[p][n] * exp(step * a[head]) + step * x[p] * B[n]         (kept in f32)
//   y[p]        = (sum over n of state[p][n] * C[n] + D[head] * x[p]) * silu(z[p])
//
// for every head (p: its channels, n: the state's elements; heads / groups heads share B and C).
// Source of the rule: Dao and Gu, "Transformers are SSMs" (2024), section 7; the gate as in
// Mamba-2's block.
//
// Version: a warp owns whole rows of the state. It reads kState elements as 16-byte loads (128 of
// them are exactly one load of each lane), keeps B and C in registers, has kRows loads in flight,
// and reduces y across the lanes that share a row. The state is read and written once; nothing is
// staged.
//
// Bytes: 8 * heads * head_dim * state * batch (the state, read and written) and, small beside
//        them, x, z, y, B, C, dt. FLOPs: 5 a state element.
// Memory-bound everywhere: 0.6 FLOP a byte.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/ops/fill.cuh"
#include "kernels/ops/test_data.h"
#include "kernels/registry.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

// Device pointers; T is bf16 or f16. Everything 16-byte aligned.
template <class T>
struct SsmUpdateArgs {
  float* states;              // [slots][heads][head_dim][state]
  const std::int32_t* slots;  // [batch]: where each sequence's state lies; no slot twice
  const T* x;                 // [batch][heads][head_dim]
  const T* z;                 // as x: the gate
  const T* dt;                // [batch][heads]
  const float* dt_bias;       // [heads]
  const float* a;             // [heads], negative
  const float* d;             // [heads]
  const T* b;                 // [batch][groups][state]
  const T* c;                 // as b
  T* y;                       // as x
  int heads, head_dim, groups;
};

__device__ __forceinline__ float softplus(float v) { return v > 20.0f ? v : log1pf(expf(v)); }
__device__ __forceinline__ float silu(float v) { return v / (1.0f + expf(-v)); }

template <class T, int kState>
__global__ void __launch_bounds__(128) ssm_update_kernel(SsmUpdateArgs<T> args) {
  constexpr int kLanes = kState / 4 < 32 ? kState / 4 : 32;  // that share a row
  constexpr int kLoads = kState / 4 / kLanes;                // 16-byte loads of a lane and row
  constexpr int kRows = 8 / kLoads;                          // rows in flight a lane
  constexpr int kWarpRows = kRows * (32 / kLanes);           // rows in flight a warp
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int sub = lane / kLanes, part = lane % kLanes;
  const int head = blockIdx.x, sequence = blockIdx.y;
  const int group = head / (args.heads / args.groups);
  const std::int64_t place = std::int64_t{sequence} * args.heads + head;

  const float step = softplus(to_f(args.dt[place]) + args.dt_bias[head]);
  const float decay = expf(step * args.a[head]);
  const float skip = args.d[head];
  float b[kLoads * 4], c[kLoads * 4];
  const std::int64_t shared_row = (std::int64_t{sequence} * args.groups + group) * kState;
  for (int i = 0; i < kLoads * 4; ++i) {
    const int n = (i / 4 * kLanes + part) * 4 + i % 4;
    b[i] = step * to_f(args.b[shared_row + n]);
    c[i] = to_f(args.c[shared_row + n]);
  }

  float* state = args.states +
                 (std::int64_t{args.slots[sequence]} * args.heads + head) * args.head_dim * kState;
#pragma unroll 1
  for (int first = warp * kWarpRows; first < args.head_dim; first += 4 * kWarpRows) {
    Pack16<float> rows[kRows][kLoads];
    float x[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int p = first + r * (32 / kLanes) + sub;
      const bool in = p < args.head_dim;
      x[r] = in ? to_f(args.x[place * args.head_dim + p]) : 0.0f;
#pragma unroll
      for (int l = 0; l < kLoads; ++l)
        rows[r][l] = in ? load16(state + std::int64_t{p} * kState + (l * kLanes + part) * 4)
                        : Pack16<float>{};
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int p = first + r * (32 / kLanes) + sub;
      const bool in = p < args.head_dim;
      float y = 0.0f;
#pragma unroll
      for (int l = 0; l < kLoads; ++l) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& s = rows[r][l].v[i];
          s = s * decay + x[r] * b[l * 4 + i];
          y += s * c[l * 4 + i];
        }
        if (in) store16(state + std::int64_t{p} * kState + (l * kLanes + part) * 4, rows[r][l]);
      }
#pragma unroll
      for (int offset = kLanes / 2; offset > 0; offset /= 2)
        y += __shfl_xor_sync(0xffffffffu, y, offset);
      if (in && part == 0) {
        const float z = to_f(args.z[place * args.head_dim + p]);
        args.y[place * args.head_dim + p] = from_f<T>((y + skip * x[r]) * silu(z));
      }
    }
  }
}

// state: 64, 128 or 256.
template <class T>
void ssm_update(const SsmUpdateArgs<T>& args, int state, int batch, Stream stream) {
  if (batch == 0) return;
  const dim3 grid(static_cast<unsigned>(args.heads), static_cast<unsigned>(batch));
  const auto kernel = state == 64    ? ssm_update_kernel<T, 64>
                      : state == 128 ? ssm_update_kernel<T, 128>
                                     : ssm_update_kernel<T, 256>;
  launch(kernel, grid, dim3(128), 0, stream, args);
}

// --- Check -------------------------------------------------------------------------------------

struct SsmShape {
  int heads, head_dim, state, groups, batch;
  int slots() const { return batch + 2; }  // more than are used
  std::int64_t state_elements() const { return std::int64_t{slots()} * heads * head_dim * state; }
};

// One layer's host data, from which both the device buffers and the reference are made.
template <class T>
struct SsmData {
  explicit SsmData(const SsmShape& s, std::uint64_t seed) : shape(s) {
    TestRandom random(seed);
    const auto n = [](std::int64_t rows, std::int64_t columns, std::int64_t depth = 1) {
      return static_cast<std::size_t>(rows * columns * depth);
    };
    states = random.normals<float>(static_cast<std::size_t>(s.state_elements()));
    x = random.normals<T>(n(s.batch, s.heads, s.head_dim));
    z = random.normals<T>(n(s.batch, s.heads, s.head_dim));
    dt = random.normals<T>(n(s.batch, s.heads));
    dt_bias = random.normals<float>(n(s.heads, 1), -1.0);
    a = random.normals<float>(n(s.heads, 1), -2.0, 0.5);
    d = random.normals<float>(n(s.heads, 1));
    b = random.normals<T>(n(s.batch, s.groups, s.state));
    c = random.normals<T>(n(s.batch, s.groups, s.state));
    for (int i = 0; i < s.batch; ++i) slots.push_back(s.slots() - 1 - i);
  }
  SsmShape shape;
  std::vector<float> states, dt_bias, a, d;
  std::vector<T> x, z, dt, b, c;
  std::vector<std::int32_t> slots;
};

// The double-precision reference: the rule as it stands above, element by element.
template <class T>
void ssm_reference(const SsmData<T>& in, std::vector<double>& states, std::vector<double>& y) {
  const SsmShape& s = in.shape;
  states.assign(in.states.begin(), in.states.end());
  y.assign(in.x.size(), 0.0);
  for (int q = 0; q < s.batch; ++q)
    for (int h = 0; h < s.heads; ++h) {
      const auto place = static_cast<std::size_t>(q * s.heads + h);
      const auto hh = static_cast<std::size_t>(h);
      const double step = std::log1p(std::exp(double{to_f(in.dt[place])} + in.dt_bias[hh]));
      const double decay = std::exp(step * in.a[hh]);
      const int group = h / (s.heads / s.groups);
      for (int p = 0; p < s.head_dim; ++p) {
        const auto channel =
            place * static_cast<std::size_t>(s.head_dim) + static_cast<std::size_t>(p);
        const double x = to_f(in.x[channel]);
        double sum = in.d[hh] * x;
        for (int n = 0; n < s.state; ++n) {
          const auto shared = static_cast<std::size_t>((q * s.groups + group) * s.state + n);
          double& e = states[static_cast<std::size_t>(
              ((in.slots[static_cast<std::size_t>(q)] * s.heads + h) * s.head_dim + p) * s.state +
              n)];
          e = e * decay + step * x * to_f(in.b[shared]);
          sum += e * to_f(in.c[shared]);
        }
        const double z = to_f(in.z[channel]);
        y[channel] = sum * z / (1.0 + std::exp(-z));
      }
    }
}

template <class T>
void check_ssm_update(const SsmShape& s, double y_tolerance, std::vector<CheckResult>& results) {
  const SsmData<T> in(s, 11);
  DeviceBuffer<float> states(in.states), dt_bias(in.dt_bias), a(in.a), d(in.d);
  DeviceBuffer<T> x(in.x), z(in.z), dt(in.dt), b(in.b), c(in.c), y(in.x.size());
  DeviceBuffer<std::int32_t> slots(in.slots);
  const SsmUpdateArgs<T> args{states.data(),  slots.data(), x.data(),   z.data(), dt.data(),
                              dt_bias.data(), a.data(),     d.data(),   b.data(), c.data(),
                              y.data(),       s.heads,      s.head_dim, s.groups};
  ssm_update(args, s.state, s.batch, {});
  std::vector<double> want_states, want_y;
  ssm_reference(in, want_states, want_y);
  const std::string what = std::string(kTypeName<T>) + ", " + std::to_string(s.batch) +
                           " sequences, " + std::to_string(s.heads) + " heads x " +
                           std::to_string(s.head_dim) + " x " + std::to_string(s.state) + ", " +
                           std::to_string(s.groups) + " groups";
  results.push_back({what + ": y", relative_error(y.download(), want_y), y_tolerance});
  results.push_back({what + ": state (f32)", relative_error(states.download(), want_states), 2e-6});
}

inline std::vector<CheckResult> check_ssm_updates(int groups) {
  std::vector<CheckResult> results;
  for (SsmShape s : {SsmShape{2, 64, 128, 0, 3}, SsmShape{2, 40, 64, 0, 2},
                     SsmShape{1, 33, 256, 0, 1}, SsmShape{1, 64, 128, 0, 0}}) {
    s.groups = groups;
    s.heads *= groups;
    check_ssm_update<bf16>(s, 4e-3, results);
    check_ssm_update<f16>(s, 5e-4, results);
  }
  return results;
}

// --- Registration ------------------------------------------------------------------------------

class PreparedSsmUpdate : public Prepared {
 public:
  PreparedSsmUpdate(const SsmShape& s, int copies, std::uint64_t seed)
      : shape_(s),
        states_(static_cast<std::size_t>(std::int64_t{copies} * s.heads * s.head_dim * s.state *
                                         s.batch)),
        x_(static_cast<std::size_t>(std::int64_t{s.batch} * s.heads * s.head_dim)),
        z_(x_.size()),
        y_(x_.size()),
        dt_(static_cast<std::size_t>(std::int64_t{s.batch} * s.heads)),
        b_(static_cast<std::size_t>(std::int64_t{s.batch} * s.groups * s.state)),
        c_(b_.size()),
        heads_(3 * static_cast<std::size_t>(s.heads)),
        slots_(random_permutation(s.batch, seed)) {
    auto word = static_cast<std::uint32_t>(seed);
    fill_normal(states_.data(), states_.size(), ++word);
    for (DeviceBuffer<bf16>* t : {&x_, &z_, &dt_, &b_, &c_})
      fill_normal(t->data(), t->size(), ++word);
    fill_normal(heads_.data(), heads_.size(), ++word, -2.0f, 0.5f);
  }
  void launch(int copy, Stream stream) override {
    const std::int64_t one =
        std::int64_t{shape_.heads} * shape_.head_dim * shape_.state * shape_.batch;
    const float* head = heads_.data();
    const SsmUpdateArgs<bf16> args{states_.data() + copy * one,
                                   slots_.data(),
                                   x_.data(),
                                   z_.data(),
                                   dt_.data(),
                                   head,
                                   head + shape_.heads,
                                   head + 2 * shape_.heads,
                                   b_.data(),
                                   c_.data(),
                                   y_.data(),
                                   shape_.heads,
                                   shape_.head_dim,
                                   shape_.groups};
    ssm_update(args, shape_.state, shape_.batch, stream);
  }

 private:
  SsmShape shape_;
  DeviceBuffer<float> states_;
  DeviceBuffer<bf16> x_, z_, y_, dt_, b_, c_;
  DeviceBuffer<float> heads_;  // dt_bias, a, d
  DeviceBuffer<std::int32_t> slots_;
};

inline KernelEntry ssm_update_entry(int groups) {
  const auto shape = [groups](const Case& c) {  // heads, head_dim, state, batch
    return SsmShape{static_cast<int>(c.key[0]), static_cast<int>(c.key[1]),
                    static_cast<int>(c.key[2]), groups, static_cast<int>(c.key[3])};
  };
  KernelEntry entry;
  entry.name = "ssm_update";
  entry.op = "ssm_update";
  entry.impl = "own";
  entry.variant = {{"state_dtype", "fp32"}, {"groups", std::to_string(groups)}};
  entry.check = [groups] { return check_ssm_updates(groups); };
  entry.supports = [shape](const Case& c) {
    const SsmShape s = shape(c);
    return (s.state == 64 || s.state == 128 || s.state == 256) && s.heads % s.groups == 0 &&
           s.batch <= 65535;
  };
  entry.work = [shape](const Case& c) {
    const SsmShape s = shape(c);
    const double elements = 1.0 * s.heads * s.head_dim * s.state * s.batch;
    const double tokens =
        1.0 * s.batch * (3.0 * s.heads * s.head_dim + 2.0 * s.groups * s.state + s.heads) * 2;
    return Work{5 * elements, 8 * elements + tokens, 4 * elements, tokens};
  };
  entry.prepare = [shape](const Case& c, int copies,
                          std::uint64_t seed) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedSsmUpdate>(shape(c), copies, seed);
  };
  return entry;
}

inline void register_ssm_update(std::vector<KernelEntry>& table) {
  for (int groups : {1, 8}) table.push_back(ssm_update_entry(groups));
}

}  // namespace headway::kernels
