#pragma once

// The runtime layer under the emulator: the names of rt.h for g++ and clang. Whatever waits for
// other threads goes through emulator_core.h; memory is touched here, inline, so that a sanitizer
// reports the kernel's own line.

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/rt/emulator_core.h"
#include "kernels/rt/number_types.h"
#include "kernels/stream.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __constant__ static const

#define threadIdx (::headway::kernels::emu::current().thread)
#define blockIdx (::headway::kernels::emu::current().block)
#define blockDim (::headway::kernels::emu::current().block_dim)
#define gridDim (::headway::kernels::emu::current().grid_dim)

#define DYN_SMEM(T, name) T* name = static_cast<T*>(::headway::kernels::emu::dynamic_shared())
#define SHARED(T, name, count)                                                            \
  static char name##_headway_tag;                                                         \
  T* name = static_cast<T*>(::headway::kernels::emu::static_shared(&name##_headway_tag,    \
                                                                   (count) * sizeof(T)))

namespace headway::kernels {

using emu::dim3;
using emu::uint3;
inline constexpr int warpSize = 32;

// --- Host side -------------------------------------------------------------------------------

inline void device_synchronize() {}

// As on the GPU: fresh memory holds NaN. The allocation is exact, so that ASan sees an overrun.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    if (count == 0) return;
    void* memory = nullptr;
    if (posix_memalign(&memory, 256, bytes()) != 0) throw std::bad_alloc();
    std::memset(memory, 0xff, bytes());
    data_ = static_cast<T*>(memory);
  }
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size()) {
    upload(values);
  }
  ~DeviceBuffer() { std::free(data_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

  void upload(const std::vector<T>& values) {
    if (values.size() > count_) throw std::out_of_range("DeviceBuffer::upload");
    if (!values.empty()) std::memcpy(data_, values.data(), values.size() * sizeof(T));
  }
  std::vector<T> download() const { return std::vector<T>(data_, data_ + count_); }

 private:
  void swap(DeviceBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// Runs the whole grid and returns. Throws emu::Fault.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t smem_bytes, Stream /*stream*/,
            A&&... arguments) {
  std::tuple<P...> parameters(std::forward<A>(arguments)...);
  auto body = [&] { std::apply(kernel, parameters); };
  emu::run(grid, block, smem_bytes,
           [](void* closure) { (*static_cast<decltype(body)*>(closure))(); }, &body);
}

// --- Barriers and warp collectives -------------------------------------------------------------

inline void __syncthreads() { emu::sync_block(0); }
inline int __syncthreads_count(int predicate) { return emu::sync_block(predicate != 0).count; }
inline int __syncthreads_or(int predicate) { return emu::sync_block(predicate != 0).count != 0; }
inline int __syncthreads_and(int predicate) {
  const emu::BlockVote vote = emu::sync_block(predicate != 0);
  return vote.count == vote.threads;
}
inline void __syncwarp(unsigned mask = 0xffffffffu) { emu::sync_warp(mask); }

namespace emu {
// A value of at most 8 bytes as it travels between lanes.
template <class T>
std::uint64_t pack_value(T value) {
  static_assert(sizeof(T) <= 8, "a shuffle carries at most 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T shuffle(unsigned mask, T value, int source) {
  const std::uint64_t bits = shuffle_bits(mask, pack_value(value), source);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline int lane_id() { return current().lane; }
}  // namespace emu

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int lane = emu::lane_id();
  return emu::shuffle(mask, value, (lane & ~(width - 1)) | (source & (width - 1)));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const int lane = emu::lane_id();
  const int source = lane ^ lane_mask;
  return emu::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = emu::lane_id();
  const int source = lane + static_cast<int>(delta);
  return emu::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = emu::lane_id();
  const int source = lane - static_cast<int>(delta);
  return emu::shuffle(mask, value, source < (lane & ~(width - 1)) ? lane : source);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return emu::ballot(mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) {
  return emu::ballot(mask, predicate != 0) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return emu::ballot(mask, predicate == 0) == 0;
}

// --- Atomics -----------------------------------------------------------------------------------
// Acquire-release, which is more than CUDA's are: a forgotten __threadfence does not show here.

template <class T>
T atomicAdd(T* address, T value) {
  return std::atomic_ref<T>(*address).fetch_add(value);
}
template <class T>
T atomicExch(T* address, T value) {
  return std::atomic_ref<T>(*address).exchange(value);
}
template <class T>
T atomicCAS(T* address, T expected, T desired) {
  std::atomic_ref<T>(*address).compare_exchange_strong(expected, desired);
  return expected;
}
namespace emu {
template <class T, class F>
T update(T* address, F next) {
  std::atomic_ref<T> cell(*address);
  T old = cell.load();
  while (!cell.compare_exchange_weak(old, next(old))) {
  }
  return old;
}
}  // namespace emu
template <class T>
T atomicMax(T* address, T value) {
  return emu::update(address, [=](T old) { return old < value ? value : old; });
}
template <class T>
T atomicMin(T* address, T value) {
  return emu::update(address, [=](T old) { return value < old ? value : old; });
}
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return emu::update(address, [=](unsigned old) { return old >= limit ? 0u : old + 1; });
}
inline void __threadfence() {}
inline void __threadfence_block() {}

// --- Arithmetic --------------------------------------------------------------------------------

template <class T>
T __ldg(const T* address) {
  return *address;
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float fast_exp2(float x) { return std::exp2(x); }
inline std::uint32_t __float_as_uint(float x) { return number_types::bits_of(x); }
inline float __uint_as_float(std::uint32_t x) { return number_types::float_of(x); }
inline int __float_as_int(float x) { return static_cast<int>(number_types::bits_of(x)); }
inline float __int_as_float(int x) {
  return number_types::float_of(static_cast<std::uint32_t>(x));
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }

// Four bytes of b:a (a the low word), picked by the nibbles of `selector`.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = selector >> (4 * i);
    unsigned byte = static_cast<unsigned>(both >> (8 * (pick & 7))) & 0xffu;
    if (pick & 8) byte = byte & 0x80u ? 0xffu : 0u;
    result |= byte << (8 * i);
  }
  return result;
}
// c + the dot product of four signed bytes.
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) {
    c += static_cast<std::int8_t>(a >> (8 * i)) * static_cast<std::int8_t>(b >> (8 * i));
  }
  return c;
}

template <class T>
std::uint32_t fma2(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  // In double, so that the product and the sum are rounded once, to T (a float holds the product).
  const auto one = [](float x, float y, float z) {
    return static_cast<float>(static_cast<double>(x) * y + z);
  };
  return pack2<T>(one(low_f<T>(a), low_f<T>(b), low_f<T>(c)),
                  one(high_f<T>(a), high_f<T>(b), high_f<T>(c)));
}

template <int kTable>
std::uint32_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result = 0;
  for (int i = 0; i < 8; ++i) {
    if (!(kTable >> i & 1)) continue;
    result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return result;
}

// --- Memory ------------------------------------------------------------------------------------

template <class T>
struct alignas(16) Pack16 {
  static constexpr int kCount = 16 / sizeof(T);
  T v[kCount];
};

template <class T>
Pack16<T> load16(const T* from) {
  emu::check_aligned(from, "load16");
  Pack16<T> pack;
  std::memcpy(&pack, from, 16);
  return pack;
}
template <class T>
Pack16<T> load16_stream(const T* from) {
  return load16(from);
}
template <class T>
void store16(T* to, const Pack16<T>& pack) {
  emu::check_aligned(to, "store16");
  std::memcpy(to, &pack, 16);
}

namespace emu {
inline void apply(const Copy& copy) {
  if (copy.from != nullptr) {
    std::memcpy(copy.to, copy.from, 16);
  } else {
    std::memset(copy.to, 0, 16);
  }
}
}  // namespace emu

inline void cp_async16(void* smem, const void* gmem, bool pred = true) {
  emu::check_aligned(smem, "cp_async16 to");
  if (pred) emu::check_aligned(gmem, "cp_async16 from");
  const emu::Copy copy{smem, pred ? gmem : nullptr};
  if (emu::defer(copy)) {
    emu::touch(copy);  // an address that is wrong is wrong here, whenever the data moves
  } else {
    emu::apply(copy);
  }
}
inline void cp_async_commit() { emu::commit_copies(); }
template <int N>
void cp_async_wait() {
  for (emu::Copy copy; emu::next_landed_copy(N, copy);) emu::apply(copy);
}

template <bool kTranspose>
void ldmatrix_x4(std::uint32_t& r0, std::uint32_t& r1, std::uint32_t& r2, std::uint32_t& r3,
                 const void* row) {
  emu::check_aligned(row, "ldmatrix");
  emu::LdmatrixLane lane;
  std::memcpy(lane.row, row, 16);
  emu::ldmatrix(lane, kTranspose);
  r0 = lane.result[0];
  r1 = lane.result[1];
  r2 = lane.result[2];
  r3 = lane.result[3];
}

template <class T>
void mma_m16n8k16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  emu::MmaLane lane;
  std::memcpy(lane.a, a, sizeof lane.a);
  std::memcpy(lane.b, b, sizeof lane.b);
  std::memcpy(lane.c, c, sizeof lane.c);
  emu::mma<T>(lane);
  std::memcpy(c, lane.c, sizeof lane.c);
}

}  // namespace headway::kernels
