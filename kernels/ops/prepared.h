#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/ops/fill.cuh"
#include "kernels/ops/test_data.h"
#include "kernels/registry.h"
#include "kernels/rt/rt.h"

// What the small kernels' registrations share.
namespace headway::kernels {

// A Prepared whose call is `queue(copy, stream)` and which owns what the closure owns.
template <class F>
std::unique_ptr<Prepared> prepared(F queue) {
  class Call : public Prepared {
   public:
    explicit Call(F f) : queue_(std::move(f)) {}
    void launch(int copy, Stream stream) override { queue_(copy, stream); }

   private:
    F queue_;
  };
  return std::make_unique<Call>(std::move(queue));
}

// `count` normal values in device memory, there when this returns.
template <class T>
DeviceBuffer<T> normal_buffer(std::size_t count, std::uint64_t seed) {
  DeviceBuffer<T> buffer(count);
  if (count > 0) fill_normal(buffer.data(), count, static_cast<std::uint32_t>(seed));
  device_synchronize();
  return buffer;
}

template <class T>
std::vector<T> normal_values(std::size_t count, std::uint64_t seed, double deviation = 1.0) {
  return TestRandom(seed).normals<T>(count, 0.0, deviation);
}

template <class T>
std::vector<double> to_doubles(const std::vector<T>& values) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const T& value : values) result.push_back(to_f(value));
  return result;
}

// For a result computed in f32 and rounded to T once: half a unit in T's last place, and 5 % of it
// for what came before.
template <class T>
inline constexpr double kRoundingTolerance = 0;
template <>
inline constexpr double kRoundingTolerance<float> = 2e-6;
template <>
inline constexpr double kRoundingTolerance<bf16> = 1.05 / 256;
template <>
inline constexpr double kRoundingTolerance<f16> = 1.05 / 2048;

}  // namespace headway::kernels
