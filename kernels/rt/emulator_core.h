#pragma once

// What rt_emu.h asks of the emulator: the calls that a running CUDA thread makes. Not for kernels
// or tests.

#include <cstddef>
#include <cstdint>

#include "kernels/rt/emulator.h"
#include "kernels/rt/number_types.h"

#if defined(__SANITIZE_THREAD__)
#define HEADWAY_TSAN_KERNELS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEADWAY_TSAN_KERNELS
#endif
#endif
#ifdef HEADWAY_TSAN_KERNELS
extern "C" void __tsan_write16(void* address);
extern "C" void __tsan_read16(void* address);
#endif

namespace headway::kernels::emu {

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

// Where the running thread is in the grid.
struct Place {
  uint3 thread;
  uint3 block;
  dim3 block_dim;
  dim3 grid_dim;
  int lane;
  int warp;
};
extern constinit thread_local const Place* current_place;
inline const Place& current() { return *current_place; }

// Runs body(closure) as every thread of the grid.
void run(dim3 grid, dim3 block, std::size_t smem_bytes, void (*body)(void*), void* closure);

void* dynamic_shared();
// One block's static array: the same for every thread of the block that passes the tag, NaN at
// first.
void* static_shared(const void* tag, std::size_t bytes);

struct BlockVote {
  int count;    // threads whose predicate held
  int threads;  // threads that came
};
BlockVote sync_block(bool predicate);
void sync_warp(std::uint32_t mask);
std::uint64_t shuffle_bits(std::uint32_t mask, std::uint64_t value, int source);
std::uint32_t ballot(std::uint32_t mask, bool predicate);

struct LdmatrixLane {
  std::uint16_t row[8];  // the row whose address this lane gave
  std::uint32_t result[4];
};
void ldmatrix(LdmatrixLane& lane, bool transpose);

struct MmaLane {
  std::uint32_t a[4];
  std::uint32_t b[2];
  float c[4];  // in and out
};
template <class T>  // bf16 or f16
void mma(MmaLane& lane);

// One cp.async of 16 bytes; from = nullptr writes zeros.
struct Copy {
  void* to;
  const void* from;
};
bool defer(const Copy& copy);  // false: copies are eager, the caller applies it
void commit_copies();
// Takes the next copy of the oldest group while more than `pending` groups are under way.
bool next_landed_copy(int pending, Copy& copy);

// Shows a sanitizer the access at the place where the copy is issued.
inline void touch(const Copy& copy) {
#ifdef HEADWAY_TSAN_KERNELS
  if (copy.from != nullptr) __tsan_read16(const_cast<void*>(copy.from));
  __tsan_write16(copy.to);
#else
  if (copy.from != nullptr) {
    (void)static_cast<const volatile char*>(copy.from)[0];
    (void)static_cast<const volatile char*>(copy.from)[15];
  }
  const volatile char* to = static_cast<const volatile char*>(copy.to);
  (void)to[0];
  (void)to[15];
#endif
}

[[noreturn]] void misaligned(const void* address, const char* access);
inline void check_aligned(const void* address, const char* access) {
  if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) misaligned(address, access);
}

}  // namespace headway::kernels::emu
