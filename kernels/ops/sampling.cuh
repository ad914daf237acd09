#pragma once

// Sampling: one token of each sequence from its logits, with temperature, top-k and top-p.
//
//   w[i]  = exp((logit[i] - largest) / temperature)
//   top-k: keep i when fewer than k logits are larger          (equal ones at the edge are all
//   kept) top-p: of those, keep i when the weight of all larger ones is below p times the weight of
//   all token = first i, in index order, at which the kept weight up to i exceeds u * (kept weight)
//   temperature 0, or method greedy: the largest logit, the first of equals
//
// The order temperature, top-k, top-p is vLLM's and SGLang's. u is given, as 32 random bits: u =
// bits / 2^32. Weights are fixed point numbers of 2^-40, so sums are exact and the token does not
// depend on the order of threads.
//
// Versions, one block a sequence:
//   1 general: thresholds by radix select over the order-preserving integer of a logit, 8 bits a
//   pass, by
//     counts for top-k and by weight for top-p; then a draw (block_draw.cuh). Up to 10 passes over
//     the logits, which stay in L2.
//   2 small k (up to 1024), taken when it applies: the k-th largest of the threads' own maxima is a
//   lower
//     bound of the k-th largest logit, so one more pass collects all candidates in shared memory,
//     where ranks and sums are counted directly. Two passes. Should more than kCandidates pass, 1
//     is used.
//
// Bytes: vocab * sizeof(T) a sequence. FLOPs: about 4 a logit. Memory- and latency-bound.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/ops/block_draw.cuh"
#include "kernels/ops/fill.cuh"
#include "kernels/ops/test_data.h"
#include "kernels/registry.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

// Device pointers; T is float, bf16 or f16. One entry a sequence, except logits.
template <class T>
struct SamplingArgs {
  const T* logits;               // [sequences][vocab]; no NaN, not all -inf
  const float* temperature;      // 0: greedy
  const std::int32_t* top_k;     // 0: off
  const float* top_p;            // in (0, 1]; 1: off
  const std::uint32_t* uniform;  // random bits
  std::int32_t* tokens;          // out
  int vocab;
};

namespace sampling {
using draw::Mass;
constexpr int kThreads = draw::kThreads;
constexpr int kCandidates = 2048;

// Larger floats have larger keys.
__device__ __forceinline__ std::uint32_t key_of(float v) {
  const std::uint32_t bits = __float_as_uint(v);
  return bits ^ (bits >> 31 != 0 ? 0xffffffffu : 0x80000000u);
}
__device__ __forceinline__ float value_of(std::uint32_t key) {
  return __uint_as_float(key ^ (key >> 31 != 0 ? 0x80000000u : 0xffffffffu));
}

// f(i, key) for all i of this thread's share, 16 bytes at once where rows are aligned. Not for code
// in which warps have to stay together.
template <class T, class F>
__device__ __forceinline__ void for_each_key(const T* row, int vocab, const F& f) {
  constexpr int kPack = Pack16<T>::kCount;
  if (vocab % kPack == 0) {
    for (int i = static_cast<int>(threadIdx.x) * kPack; i < vocab; i += kThreads * kPack) {
      const Pack16<T> pack = load16(row + i);
#pragma unroll
      for (int j = 0; j < kPack; ++j) f(i + j, key_of(to_f(pack.v[j])));
    }
  } else {
    for (int i = static_cast<int>(threadIdx.x); i < vocab; i += kThreads)
      f(i, key_of(to_f(row[i])));
  }
}

struct Shared {
  Mass scratch[draw::kWarps];
  Mass bins[256];
  Mass above;
  std::uint32_t digit;
  std::uint32_t candidates;
  std::uint32_t thread_key[kThreads];
  std::uint32_t key[kCandidates];
  std::int32_t index[kCandidates];
  Mass mass[kCandidates];
};

// What a weight is computed from.
struct Scale {
  float largest;
  float exponent;  // log2(e) / temperature
  __device__ __forceinline__ Mass mass(std::uint32_t key) const {
    return draw::mass_of(fast_exp2((value_of(key) - largest) * exponent));
  }
};

// Adds to a histogram. Logits crowd into a few bins, so lanes with the same bin add up first.
__device__ __forceinline__ void add_to_bin(Mass* bins, std::uint32_t digit, Mass mass, bool valid) {
  unsigned todo = __ballot_sync(draw::kAll, valid);
  while (todo != 0) {
    const int leader = __ffs(static_cast<int>(todo)) - 1;
    const std::uint32_t led =
        __shfl_sync(draw::kAll, digit, leader);  // by every lane: not after &&
    const bool same = valid && digit == led;
    const Mass sum = draw::warp_sum(same ? mass : Mass{0});
    if (static_cast<int>(threadIdx.x % 32) == leader) atomicAdd(&bins[digit], sum);
    todo &= ~__ballot_sync(draw::kAll, same);
  }
}

// The key v at which the mass of keys >= v reaches `wanted` and that of keys > v does not, among
// keys
// >= floor_key: the k-th largest when a mass is 1, the edge of top-p when it is a weight.
template <class T, class MassOf>
__device__ std::uint32_t radix_select(const T* row, int vocab, std::uint32_t floor_key, Mass wanted,
                                      const MassOf& mass_of, Shared& shared) {
  const int thread = threadIdx.x;
  std::uint32_t prefix = 0;
  Mass above = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    __syncthreads();
    if (thread < 256) shared.bins[thread] = 0;
    __syncthreads();
    for (int i0 = thread - thread % 32; i0 < vocab; i0 += kThreads) {  // whole warps
      const int i = i0 + thread % 32;
      const std::uint32_t key = i < vocab ? key_of(to_f(row[i])) : 0;
      const bool valid =
          i < vocab && key >= floor_key && (shift == 24 || key >> (shift + 8) == prefix);
      const std::uint32_t digit = key >> shift & 0xffu;
      if (shift == 24)
        add_to_bin(shared.bins, digit, valid ? mass_of(key) : Mass{0}, valid);
      else if (valid)
        atomicAdd(&shared.bins[digit], mass_of(key));
    }
    __syncthreads();
    if (thread < 256) {
      Mass larger = above;
      for (int bin = 255; bin > thread; --bin) larger += shared.bins[bin];
      if (larger < wanted && wanted <= larger + shared.bins[thread]) {
        shared.above = larger;
        shared.digit = static_cast<std::uint32_t>(thread);
      }
    }
    __syncthreads();
    above = shared.above;
    prefix = prefix << 8 | shared.digit;
  }
  return prefix;
}

// p as 32 bits; at least one unit of mass is wanted.
__device__ __forceinline__ Mass wanted_mass(Mass total, float p) {
  const Mass wanted =
      draw::fraction_of(total, static_cast<std::uint32_t>(static_cast<double>(p) * 4294967296.0));
  return wanted == 0 ? 1 : wanted;
}

template <class T>
__device__ int sample_general(const T* row, int vocab, int k, float p, std::uint32_t uniform,
                              const Scale& scale, Shared& shared) {
  std::uint32_t threshold = 0;
  if (k > 0 && k < vocab)
    threshold = radix_select(
        row, vocab, 0, static_cast<Mass>(k), [](std::uint32_t) { return Mass{1}; }, shared);
  if (p < 1.0f) {
    Mass mine = 0;
    for_each_key(row, vocab, [&](int, std::uint32_t key) {
      if (key >= threshold) mine += scale.mass(key);
    });
    const Mass total = draw::block_sum(mine, shared.scratch);
    threshold = radix_select(
        row, vocab, threshold, wanted_mass(total, p),
        [&](std::uint32_t key) { return scale.mass(key); }, shared);
  }
  const auto weight = [&](int i) {
    const std::uint32_t key = key_of(to_f(row[i]));
    return key >= threshold ? scale.mass(key) : Mass{0};
  };
  return draw::block_draw(weight, vocab, uniform, shared.scratch);
}

// A lower bound of the k-th largest key, from the threads' own largest; k <= kThreads.
__device__ __forceinline__ std::uint32_t lower_bound_key(std::uint32_t mine, int k,
                                                         Shared& shared) {
  shared.thread_key[threadIdx.x] = mine;
  __syncthreads();
  int larger = 0;
  for (int t = 0; t < kThreads; ++t) larger += shared.thread_key[t] > mine ? 1 : 0;
  // The smallest of the keys that fewer than k exceed, as the largest of complements.
  const std::uint32_t complement = larger < k ? ~mine : 0u;
  return ~static_cast<std::uint32_t>(draw::block_max(complement, shared.scratch));
}

// Whether all candidates fit; then they lie in shared memory, in no particular order.
template <class T>
__device__ bool collect(const T* row, int vocab, std::uint32_t bound, Shared& shared) {
  if (threadIdx.x == 0) shared.candidates = 0;
  __syncthreads();
  for_each_key(row, vocab, [&](int i, std::uint32_t key) {
    if (key < bound) return;
    const std::uint32_t at = atomicAdd(&shared.candidates, 1u);
    if (at >= kCandidates) return;
    shared.key[at] = key;
    shared.index[at] = i;
  });
  __syncthreads();
  return shared.candidates <= kCandidates;
}

__device__ __forceinline__ int sample_candidates(int k, float p, std::uint32_t uniform,
                                                 const Scale& scale, Shared& shared) {
  const int thread = threadIdx.x;
  const int count = static_cast<int>(shared.candidates);
  constexpr int kEach = kCandidates / kThreads;
  for (int c = thread; c < count; c += kThreads) shared.mass[c] = scale.mass(shared.key[c]);
  __syncthreads();
  Mass mass[kEach] = {}, larger_mass[kEach] = {}, kept = 0;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int c = thread + e * kThreads;
    if (c >= count) continue;
    const std::uint32_t key = shared.key[c];
    int larger = 0;
    for (int o = 0; o < count; ++o) {
      const bool is = shared.key[o] > key;
      larger += is ? 1 : 0;
      larger_mass[e] += is ? shared.mass[o] : 0;
    }
    mass[e] = larger < k ? shared.mass[c] : 0;
    kept += mass[e];
  }
  const Mass total = draw::block_sum(kept, shared.scratch);
  const Mass wanted = p < 1.0f ? wanted_mass(total, p) : total;
  kept = 0;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    if (larger_mass[e] >= wanted) mass[e] = 0;
    kept += mass[e];
    if (thread + e * kThreads < count) shared.mass[thread + e * kThreads] = mass[e];
  }
  const Mass target = draw::fraction_of(draw::block_sum(kept, shared.scratch), uniform);
  Mass token = 0;  // of the one thread that holds it
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    if (mass[e] == 0) continue;
    const int index = shared.index[thread + e * kThreads];
    Mass before = 0;
    for (int o = 0; o < count; ++o) before += shared.index[o] < index ? shared.mass[o] : 0;
    if (before <= target && target < before + mass[e]) token = static_cast<Mass>(index);
  }
  return static_cast<int>(draw::block_max(token, shared.scratch));
}

}  // namespace sampling

template <class T>
__global__ void __launch_bounds__(sampling::kThreads, 1) sampling_kernel(SamplingArgs<T> args) {
  DYN_SMEM(sampling::Shared, shared);
  const int sequence = blockIdx.x, thread = threadIdx.x;
  const T* row = args.logits + std::int64_t{sequence} * args.vocab;

  // The largest key, and of equals the smallest index: one number orders both.
  draw::Mass best = 0;
  sampling::for_each_key(row, args.vocab, [&](int i, std::uint32_t key) {
    const draw::Mass both = draw::Mass{key} << 32 | ~static_cast<std::uint32_t>(i);
    best = both > best ? both : best;
  });
  const draw::Mass largest = draw::block_max(best, shared->scratch);
  const float temperature = args.temperature[sequence];
  if (temperature == 0.0f) {
    if (thread == 0)
      args.tokens[sequence] = static_cast<std::int32_t>(~static_cast<std::uint32_t>(largest));
    return;
  }
  const sampling::Scale scale{sampling::value_of(static_cast<std::uint32_t>(largest >> 32)),
                              1.44269504f / temperature};
  const int k = args.top_k[sequence];
  const float p = args.top_p[sequence];
  const std::uint32_t uniform = args.uniform[sequence];
  bool collected = k > 0 && k <= sampling::kThreads;
  if (collected) {
    const std::uint32_t bound =
        sampling::lower_bound_key(static_cast<std::uint32_t>(best >> 32), k, *shared);
    collected = sampling::collect(row, args.vocab, bound, *shared);
  }
  const int token = collected
                        ? sampling::sample_candidates(k, p, uniform, scale, *shared)
                        : sampling::sample_general(row, args.vocab, k, p, uniform, scale, *shared);
  if (thread == 0) args.tokens[sequence] = token;
}

template <class T>
void sample(const SamplingArgs<T>& args, int sequences, Stream stream) {
  if (sequences == 0) return;
  launch(sampling_kernel<T>, dim3(static_cast<unsigned>(sequences)), dim3(sampling::kThreads),
         sizeof(sampling::Shared), stream, args);
}

}  // namespace headway::kernels
