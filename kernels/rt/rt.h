#pragma once

// The runtime layer: a kernel file includes this and nothing else of CUDA, and is then built twice,
// by nvcc for the GPU and by g++ for the emulator. What it may use:
//
//   CUDA's own names     __global__, __device__, __launch_bounds__, threadIdx ... gridDim,
//                        __syncthreads and _or/_and/_count, __syncwarp, __shfl*_sync,
//                        __ballot/any/all_sync, atomicAdd/Max/Min/CAS/Exch/Inc, __threadfence,
//                        __ldg, rsqrtf, __expf, __logf, __fdividef, __popc, __clz, __ffs,
//                        __byte_perm, __dp4a, __float_as_uint and its kin
//   DYN_SMEM(T, name)    T* name, the block's dynamic shared memory (16-byte aligned)
//   SHARED(T, name, n)   T* name, n static shared elements (instead of __shared__, which is not
//                        emulated)
//   load16, store16      16 bytes at once as a Pack16<T>; load16_stream for data read once
//   cp_async16(smem, gmem, pred), cp_async_commit(), cp_async_wait<N>()
//   launch(kernel, grid, block, smem_bytes, stream, arguments...)        instead of <<< >>>
//   to_f, from_f<T>, pack2<T>, low_f<T>, high_f<T>, fma2<T>, lop3<table>, fast_exp2
//   warp tiles (tiles.h): SmemView, TileA, TileB, TileC, load_a, load_b_nk, load_b_kn, mma, as_a
//   DeviceBuffer<T>, device_synchronize() on the host side; Stream is kernels/stream.h's
//
// Both runtimes define the same names in headway::kernels. What is emulated, and how, is told in
// kernels/README.md.

#include "kernels/rt/number_types.h"

#ifdef __CUDACC__
#include "kernels/rt/rt_gpu.cuh"
#else
#include "kernels/rt/rt_emu.h"
#endif

#include "kernels/rt/tiles.h"
