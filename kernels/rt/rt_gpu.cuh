#pragma once

// The runtime layer on a GPU (sm_80 and later): each verb is a CUDA call or one PTX statement.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/rt/number_types.h"
#include "kernels/stream.h"

namespace headway::kernels {

// A CUDA call that failed: carries the call's text and the runtime's words.
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const char* call, const char* file, int line)
      : std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                           cudaGetErrorString(code)),
        code_(code) {}
  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

#define HEADWAY_CUDA_CHECK(call)                                                              \
  do {                                                                                        \
    const cudaError_t headway_code = (call);                                                  \
    if (headway_code != cudaSuccess) {                                                        \
      throw ::headway::kernels::CudaError(headway_code, #call, __FILE__, __LINE__);           \
    }                                                                                         \
  } while (false)

// --- Host side -------------------------------------------------------------------------------

inline void device_synchronize() { HEADWAY_CUDA_CHECK(cudaDeviceSynchronize()); }

// `count` elements of device memory, owned. Fresh memory holds the bytes 0xff: NaN in every
// floating-point format, so that what a kernel forgot to write shows.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    if (count == 0) return;
    HEADWAY_CUDA_CHECK(cudaMalloc(&data_, count * sizeof(T)));
    HEADWAY_CUDA_CHECK(cudaMemset(data_, 0xff, count * sizeof(T)));
    device_synchronize();
  }
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size()) {
    upload(values);
  }
  ~DeviceBuffer() { cudaFree(data_); }  // an error here has nowhere to go
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

  // The first values.size() elements. Waits for all work before and after: not for timed code.
  void upload(const std::vector<T>& values) {
    if (values.size() > count_) throw std::out_of_range("DeviceBuffer::upload");
    device_synchronize();
    HEADWAY_CUDA_CHECK(
        cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    device_synchronize();
  }
  std::vector<T> download() const {
    std::vector<T> values(count_);
    device_synchronize();
    HEADWAY_CUDA_CHECK(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  void swap(DeviceBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t smem_bytes, Stream stream,
            A&&... arguments) {
  if (smem_bytes > 48 * 1024) {
    HEADWAY_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(smem_bytes)));
  }
  kernel<<<grid, block, smem_bytes, static_cast<cudaStream_t>(stream.handle)>>>(
      std::forward<A>(arguments)...);
  HEADWAY_CUDA_CHECK(cudaGetLastError());
}

// --- Device side -----------------------------------------------------------------------------

#define DYN_SMEM(T, name)                                          \
  extern __shared__ __align__(128) unsigned char headway_smem[];    \
  T* name = reinterpret_cast<T*>(headway_smem)

#define SHARED(T, name, count) __shared__ __align__(16) T name[count]

template <class T>
struct alignas(16) Pack16 {
  static constexpr int kCount = 16 / sizeof(T);
  T v[kCount];
};

// Whole words between memory and registers: nvcc turns a memcpy from memory into single bytes.
template <class T>
__device__ __forceinline__ Pack16<T> load16(const T* from) {
  return __builtin_bit_cast(Pack16<T>, *reinterpret_cast<const uint4*>(from));
}

// Global memory that this kernel reads once and nobody writes: past L1.
template <class T>
__device__ __forceinline__ Pack16<T> load16_stream(const T* from) {
  uint4 raw;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(raw.x), "=r"(raw.y), "=r"(raw.z), "=r"(raw.w)
      : "l"(__cvta_generic_to_global(from)));
  return __builtin_bit_cast(Pack16<T>, raw);
}

template <class T>
__device__ __forceinline__ void store16(T* to, const Pack16<T>& pack) {
  *reinterpret_cast<uint4*>(to) = __builtin_bit_cast(uint4, pack);
}

// 16 bytes to shared memory, or 16 zero bytes where `pred` is false (gmem is then not read).
__device__ __forceinline__ void cp_async16(void* smem, const void* gmem, bool pred = true) {
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(smem));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
               "l"(__cvta_generic_to_global(gmem)), "r"(pred ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Until at most N of this thread's groups are under way.
template <int N>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

template <bool kTranspose>
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t& r0, std::uint32_t& r1,
                                            std::uint32_t& r2, std::uint32_t& r3,
                                            const void* row) {
  const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (kTranspose) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
                 : "r"(from)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
                 : "r"(from)
                 : "memory");
  }
}

template <class T>
__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]);
#define HEADWAY_MMA(T, name)                                                                      \
  template <>                                                                                     \
  __device__ __forceinline__ void mma_m16n8k16<T>(float (&c)[4], const std::uint32_t (&a)[4],     \
                                                  const std::uint32_t (&b)[2]) {                  \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." name "." name                                    \
        ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                    \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                          \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                      \
  }
HEADWAY_MMA(bf16, "bf16")
HEADWAY_MMA(f16, "f16")
#undef HEADWAY_MMA

// a * b + c on a pair of 16-bit numbers, each rounded once.
template <class T>
__device__ __forceinline__ std::uint32_t fma2(std::uint32_t a, std::uint32_t b, std::uint32_t c);
template <>
__device__ __forceinline__ std::uint32_t fma2<bf16>(std::uint32_t a, std::uint32_t b,
                                                    std::uint32_t c) {
  std::uint32_t d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
template <>
__device__ __forceinline__ std::uint32_t fma2<f16>(std::uint32_t a, std::uint32_t b,
                                                   std::uint32_t c) {
  std::uint32_t d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

// Bitwise function of three words by its truth table (a = 0xf0, b = 0xcc, c = 0xaa).
template <int kTable>
__device__ __forceinline__ std::uint32_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t d;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(kTable));
  return d;
}

// 2^x, about two units in the last place; 0 for -inf.
__device__ __forceinline__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace headway::kernels
