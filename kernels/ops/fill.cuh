#pragma once

// Normal random numbers written on the device: the profiler's buffers hold gigabytes, which are not
// to cross the bus, and zeros would be timed too fast. Element i depends on the seed and i alone.

#include <cstddef>
#include <cstdint>

#include "kernels/rt/rt.h"

namespace headway::kernels {

// A well mixed word of a counter ("lowbias32", Chris Wellons' search for integer hashes).
__device__ __forceinline__ std::uint32_t mix_bits(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

// Approximately normal, mean 0 and variance 1: the sum of four uniform 16-bit numbers, scaled.
// Enough to toggle a tensor core's bits as real activations do.
__device__ __forceinline__ float hash_normal(std::uint32_t seed, std::uint64_t i) {
  const std::uint32_t low = mix_bits(static_cast<std::uint32_t>(i) ^ seed);
  const std::uint32_t word = mix_bits(low + static_cast<std::uint32_t>(i >> 32) * 0x9e3779b9u);
  const std::uint32_t more = mix_bits(word ^ 0x68bc21ebu);
  const float sum = static_cast<float>(word & 0xffffu) + static_cast<float>(word >> 16) +
                    static_cast<float>(more & 0xffffu) + static_cast<float>(more >> 16);
  return (sum - 131070.0f) * (1.0f / 37837.2f);  // the sum's deviation: 65536 * sqrt(4 / 12)
}

template <class T>
__global__ void fill_normal_kernel(T* data, std::uint64_t count, std::uint32_t seed, float mean,
                                   float deviation) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    data[i] = from_f<T>(mean + deviation * hash_normal(seed, i));
}

template <class T>
__global__ void fill_bits_kernel(T* data, std::uint64_t count, std::uint32_t seed) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    data[i] = static_cast<T>(mix_bits(static_cast<std::uint32_t>(i) ^ seed));
}

inline unsigned fill_blocks(std::uint64_t count) {
  return static_cast<unsigned>(count / 256 + 1 < 2048 ? count / 256 + 1 : 2048);
}

// Mean and deviation apply before rounding to T.
template <class T>
void fill_normal(T* data, std::uint64_t count, std::uint32_t seed, float mean = 0.0f,
                 float deviation = 1.0f, Stream stream = {}) {
  launch(fill_normal_kernel<T>, dim3(fill_blocks(count)), dim3(256), 0, stream, data, count, seed,
         mean, deviation);
}

// Uniform random bits in every element of an unsigned integer type: quantised weights.
template <class T>
void fill_bits(T* data, std::uint64_t count, std::uint32_t seed, Stream stream = {}) {
  launch(fill_bits_kernel<T>, dim3(fill_blocks(count)), dim3(256), 0, stream, data, count, seed);
}

}  // namespace headway::kernels
