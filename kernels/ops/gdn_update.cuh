#pragma once

// Gated DeltaNet recurrent update: one new token of each of `batch` sequences through a layer's
// state.
//
//   k = k / |k|,  q = q / |q| / sqrt(key_dim)
//   decay = exp(-exp(a_log[head]) * softplus(a + dt_bias[head])),  beta = sigmoid(b)
//   state = decay * state                                       ([key_dim][value_dim], kept in f32)
//   delta = beta * (v - k^T state)
//   state = state + k delta^T
//   y     = q^T state
//
// for every value head; heads / qk_heads value heads share q and k. Source of the rule: Yang, Kautz
// and Hatamizadeh, "Gated Delta Networks" (2024), equation 10; normalisation and gates as in
// Qwen3-Next.
//
// Version: columns of the state do not depend on each other, so a block takes kKey x 32 of it, once
// from memory into registers (all its 16-byte loads in flight at once) and once back. k^T state and
// q^T state are summed in one pass, since y = decay * q^T state + (q . k) delta needs the old state
// only: one exchange between the warps a block instead of two.
//
// Bytes: 8 * heads * key_dim * value_dim * batch (the state, read and written) and, small beside
//        them, q, k, v, y, a, b. FLOPs: 7 a state element.
// Memory-bound everywhere: 0.9 FLOP a byte.

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
struct GdnUpdateArgs {
  float* states;              // [slots][heads][key_dim][value_dim]
  const std::int32_t* slots;  // [batch]: where each sequence's state lies; no slot twice
  const T* q;                 // [batch][qk_heads][key_dim]
  const T* k;                 // as q
  const T* v;                 // [batch][heads][value_dim]
  const T* a;                 // [batch][heads], the decay's input
  const T* b;                 // [batch][heads], beta's input
  const float* a_log;         // [heads]
  const float* dt_bias;       // [heads]
  T* y;                       // as v
  int heads, qk_heads, value_dim;
};

namespace gdn {
constexpr int kThreads = 128;
constexpr int kColumns = 32;             // of value_dim, that a block owns
constexpr int kRowLanes = kColumns / 4;  // lanes that read one row of those
constexpr int kRowsAtOnce = kThreads / kRowLanes;

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}
}  // namespace gdn

template <class T, int kKey>
__global__ void __launch_bounds__(gdn::kThreads) gdn_update_kernel(GdnUpdateArgs<T> args) {
  constexpr int kLoads = kKey / gdn::kRowsAtOnce;
  SHARED(float, q, kKey);
  SHARED(float, k, kKey);
  SHARED(float, sums, 2 * 4 * gdn::kColumns);  // k^T state, then q^T state, of each warp
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const int head = blockIdx.y, sequence = blockIdx.z;
  const int row = thread / gdn::kRowLanes;
  const int column = blockIdx.x * gdn::kColumns + thread % gdn::kRowLanes * 4;
  const std::int64_t place = std::int64_t{sequence} * args.heads + head;
  float* state = args.states +
                 (std::int64_t{args.slots[sequence]} * args.heads + head) * kKey * args.value_dim;

  Pack16<float> rows[kLoads];
#pragma unroll
  for (int l = 0; l < kLoads; ++l)
    rows[l] = load16(state + std::int64_t{row + l * gdn::kRowsAtOnce} * args.value_dim + column);

  // Every warp sums the norms and q . k for itself, while the state is on its way.
  const std::int64_t qk_row =
      (std::int64_t{sequence} * args.qk_heads + head / (args.heads / args.qk_heads)) * kKey;
  float qq = 0.0f, kk = 0.0f, qk = 0.0f;
#pragma unroll
  for (int i = lane; i < kKey; i += 32) {
    const float qi = to_f(args.q[qk_row + i]), ki = to_f(args.k[qk_row + i]);
    qq += qi * qi;
    kk += ki * ki;
    qk += qi * ki;
    if (warp == 0) {
      q[i] = qi;
      k[i] = ki;
    }
  }
  const float q_scale = rsqrtf(gdn::warp_sum(qq) + 1e-6f) * rsqrtf(static_cast<float>(kKey));
  const float k_scale = rsqrtf(gdn::warp_sum(kk) + 1e-6f);
  qk = gdn::warp_sum(qk) * q_scale * k_scale;
  const float gate = to_f(args.a[place]) + args.dt_bias[head];
  const float decay = expf(-expf(args.a_log[head]) * (gate > 20.0f ? gate : log1pf(expf(gate))));
  const float beta = 1.0f / (1.0f + expf(-to_f(args.b[place])));
  __syncthreads();

  float k_sum[4] = {}, q_sum[4] = {};
#pragma unroll
  for (int l = 0; l < kLoads; ++l) {
    const float kr = k[row + l * gdn::kRowsAtOnce], qr = q[row + l * gdn::kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      k_sum[i] += kr * rows[l].v[i];
      q_sum[i] += qr * rows[l].v[i];
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    for (int offset = gdn::kRowLanes; offset < 32; offset *= 2) {
      k_sum[i] += __shfl_xor_sync(0xffffffffu, k_sum[i], offset);
      q_sum[i] += __shfl_xor_sync(0xffffffffu, q_sum[i], offset);
    }
    if (lane < gdn::kRowLanes) {
      sums[warp * gdn::kColumns + lane * 4 + i] = k_sum[i];
      sums[(4 + warp) * gdn::kColumns + lane * 4 + i] = q_sum[i];
    }
  }
  __syncthreads();

  float delta[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float from_k = 0.0f, from_q = 0.0f;
    for (int w = 0; w < 4; ++w) {
      from_k += sums[w * gdn::kColumns + thread % gdn::kRowLanes * 4 + i];
      from_q += sums[(4 + w) * gdn::kColumns + thread % gdn::kRowLanes * 4 + i];
    }
    const std::int64_t at = place * args.value_dim + column + i;
    delta[i] = beta * (to_f(args.v[at]) - decay * k_scale * from_k);
    if (row == 0) args.y[at] = from_f<T>(decay * q_scale * from_q + qk * delta[i]);
  }
#pragma unroll
  for (int l = 0; l < kLoads; ++l) {
    const float kr = k[row + l * gdn::kRowsAtOnce] * k_scale;
#pragma unroll
    for (int i = 0; i < 4; ++i) rows[l].v[i] = rows[l].v[i] * decay + kr * delta[i];
    store16(state + std::int64_t{row + l * gdn::kRowsAtOnce} * args.value_dim + column, rows[l]);
  }
}

// key_dim: 64 or 128; value_dim: a multiple of 32.
template <class T>
void gdn_update(const GdnUpdateArgs<T>& args, int key_dim, int batch, Stream stream) {
  if (batch == 0) return;
  const dim3 grid(static_cast<unsigned>(args.value_dim / gdn::kColumns),
                  static_cast<unsigned>(args.heads), static_cast<unsigned>(batch));
  launch(key_dim == 64 ? gdn_update_kernel<T, 64> : gdn_update_kernel<T, 128>, grid,
         dim3(gdn::kThreads), 0, stream, args);
}

// --- Check -------------------------------------------------------------------------------------

struct GdnShape {
  int heads, qk_heads, key_dim, value_dim, batch;
  int slots() const { return batch + 2; }  // more than are used
};

// One layer's host data, from which both the device buffers and the reference are made.
template <class T>
struct GdnData {
  explicit GdnData(const GdnShape& s, std::uint64_t seed) : shape(s) {
    TestRandom random(seed);
    const auto n = [](std::int64_t rows, std::int64_t columns, std::int64_t depth = 1) {
      return static_cast<std::size_t>(rows * columns * depth);
    };
    states = random.normals<float>(n(s.slots(), s.heads, std::int64_t{s.key_dim} * s.value_dim));
    q = random.normals<T>(n(s.batch, s.qk_heads, s.key_dim));
    k = random.normals<T>(n(s.batch, s.qk_heads, s.key_dim));
    v = random.normals<T>(n(s.batch, s.heads, s.value_dim));
    a = random.normals<T>(n(s.batch, s.heads));
    b = random.normals<T>(n(s.batch, s.heads));
    a_log = random.normals<float>(n(s.heads, 1), 0.0, 0.5);
    dt_bias = random.normals<float>(n(s.heads, 1), -2.0);
    for (int i = 0; i < s.batch; ++i) slots.push_back(s.slots() - 1 - i);
  }
  GdnShape shape;
  std::vector<float> states, a_log, dt_bias;
  std::vector<T> q, k, v, a, b;
  std::vector<std::int32_t> slots;
};

// The double-precision reference: the rule as it stands above, step by step.
template <class T>
void gdn_reference(const GdnData<T>& in, std::vector<double>& states, std::vector<double>& y) {
  const GdnShape& s = in.shape;
  states.assign(in.states.begin(), in.states.end());
  y.assign(in.v.size(), 0.0);
  const auto keys = static_cast<std::size_t>(s.key_dim),
             values = static_cast<std::size_t>(s.value_dim);
  for (int sequence = 0; sequence < s.batch; ++sequence)
    for (int head = 0; head < s.heads; ++head) {
      const auto h = static_cast<std::size_t>(head);
      const auto place = static_cast<std::size_t>(sequence * s.heads + head);
      const T* q =
          &in.q[static_cast<std::size_t>(sequence * s.qk_heads + head / (s.heads / s.qk_heads)) *
                keys];
      const T* k = &in.k[static_cast<std::size_t>(q - in.q.data())];
      double qq = 0, kk = 0;
      for (std::size_t i = 0; i < keys; ++i) {
        qq += double{to_f(q[i])} * to_f(q[i]);
        kk += double{to_f(k[i])} * to_f(k[i]);
      }
      const double q_scale = 1 / std::sqrt(qq + 1e-6) / std::sqrt(double(s.key_dim)),
                   k_scale = 1 / std::sqrt(kk + 1e-6);
      const double decay =
          std::exp(-std::exp(double{in.a_log[h]}) *
                   std::log1p(std::exp(double{to_f(in.a[place])} + in.dt_bias[h])));
      const double beta = 1 / (1 + std::exp(-double{to_f(in.b[place])}));
      double* state = &states[(static_cast<std::size_t>(
                                   in.slots[static_cast<std::size_t>(sequence)] * s.heads) +
                               h) *
                              keys * values];
      for (std::size_t c = 0; c < values; ++c) {
        double seen = 0, out = 0;
        for (std::size_t i = 0; i < keys; ++i)
          seen += k_scale * to_f(k[i]) * (state[i * values + c] *= decay);
        const double delta = beta * (to_f(in.v[place * values + c]) - seen);
        for (std::size_t i = 0; i < keys; ++i) {
          state[i * values + c] += k_scale * to_f(k[i]) * delta;
          out += q_scale * to_f(q[i]) * state[i * values + c];
        }
        y[place * values + c] = out;
      }
    }
}

template <class T>
void check_gdn_update(const GdnShape& s, double y_tolerance, std::vector<CheckResult>& results) {
  const GdnData<T> in(s, 12);
  DeviceBuffer<float> states(in.states), a_log(in.a_log), dt_bias(in.dt_bias);
  DeviceBuffer<T> q(in.q), k(in.k), v(in.v), a(in.a), b(in.b), y(in.v.size());
  DeviceBuffer<std::int32_t> slots(in.slots);
  const GdnUpdateArgs<T> args{states.data(), slots.data(), q.data(),     k.data(),       v.data(),
                              a.data(),      b.data(),     a_log.data(), dt_bias.data(), y.data(),
                              s.heads,       s.qk_heads,   s.value_dim};
  gdn_update(args, s.key_dim, s.batch, {});
  std::vector<double> want_states, want_y;
  gdn_reference(in, want_states, want_y);
  const std::string what = std::string(kTypeName<T>) + ", " + std::to_string(s.batch) +
                           " sequences, " + std::to_string(s.heads) + " heads (" +
                           std::to_string(s.qk_heads) + " of q, k) x " + std::to_string(s.key_dim) +
                           " x " + std::to_string(s.value_dim);
  results.push_back({what + ": y", relative_error(y.download(), want_y), y_tolerance});
  results.push_back({what + ": state (f32)", relative_error(states.download(), want_states), 2e-6});
}

inline std::vector<CheckResult> check_gdn_updates() {
  std::vector<CheckResult> results;
  for (const GdnShape& s : {GdnShape{2, 1, 128, 128, 1}, GdnShape{3, 3, 128, 96, 2},
                            GdnShape{4, 2, 64, 64, 3}, GdnShape{2, 2, 128, 128, 0}}) {
    check_gdn_update<bf16>(s, 4e-3, results);
    check_gdn_update<f16>(s, 5e-4, results);
  }
  return results;
}

// --- Registration ------------------------------------------------------------------------------

class PreparedGdnUpdate : public Prepared {
 public:
  PreparedGdnUpdate(const GdnShape& s, int copies, std::uint64_t seed)
      : shape_(s),
        one_(std::int64_t{s.batch} * s.heads * s.key_dim * s.value_dim),
        states_(static_cast<std::size_t>(copies * one_)),
        q_(static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.qk_heads * s.key_dim)),
        k_(q_.size()),
        v_(static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.heads * s.value_dim)),
        y_(v_.size()),
        a_(static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.heads)),
        b_(a_.size()),
        heads_(2 * static_cast<std::size_t>(s.heads)),
        slots_(random_permutation(s.batch, seed)) {
    auto word = static_cast<std::uint32_t>(seed);
    fill_normal(states_.data(), states_.size(), ++word);
    for (DeviceBuffer<bf16>* t : {&q_, &k_, &v_, &a_, &b_})
      fill_normal(t->data(), t->size(), ++word);
    fill_normal(heads_.data(), heads_.size(), ++word, -1.0f, 0.5f);
  }
  void launch(int copy, Stream stream) override {
    const float* head = heads_.data();
    const GdnUpdateArgs<bf16> args{states_.data() + copy * one_,
                                   slots_.data(),
                                   q_.data(),
                                   k_.data(),
                                   v_.data(),
                                   a_.data(),
                                   b_.data(),
                                   head,
                                   head + shape_.heads,
                                   y_.data(),
                                   shape_.heads,
                                   shape_.qk_heads,
                                   shape_.value_dim};
    gdn_update(args, shape_.key_dim, shape_.batch, stream);
  }

 private:
  GdnShape shape_;
  std::int64_t one_;  // elements of one set of states
  DeviceBuffer<float> states_;
  DeviceBuffer<bf16> q_, k_, v_, y_, a_, b_;
  DeviceBuffer<float> heads_;  // a_log, dt_bias
  DeviceBuffer<std::int32_t> slots_;
};

inline void register_gdn_update(std::vector<KernelEntry>& table) {
  const auto shape =
      [](const Case& c) {  // heads, key_dim, value_dim, batch; two value heads a key head
        const auto at = [&](std::size_t i) { return static_cast<int>(c.key[i]); };
        return GdnShape{at(0), at(0) % 2 == 0 ? at(0) / 2 : at(0), at(1), at(2), at(3)};
      };
  KernelEntry entry;
  entry.name = "gdn_update";
  entry.op = "gdn_update";
  entry.impl = "own";
  entry.variant = {{"state_dtype", "fp32"}};
  entry.check = check_gdn_updates;
  entry.supports = [shape](const Case& c) {
    const GdnShape s = shape(c);
    return (s.key_dim == 64 || s.key_dim == 128) && s.value_dim % gdn::kColumns == 0 &&
           s.batch <= 65535;
  };
  entry.work = [shape](const Case& c) {
    const GdnShape s = shape(c);
    const double elements = 1.0 * s.batch * s.heads * s.key_dim * s.value_dim;
    const double tokens =
        2.0 * s.batch * (2.0 * s.qk_heads * s.key_dim + 2.0 * s.heads * (s.value_dim + 1));
    return Work{7 * elements, 8 * elements + tokens, 4 * elements, tokens};
  };
  entry.prepare = [shape](const Case& c, int copies,
                          std::uint64_t seed) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedGdnUpdate>(shape(c), copies, seed);
  };
  table.push_back(std::move(entry));
}

}  // namespace headway::kernels
