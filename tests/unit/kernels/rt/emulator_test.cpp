// The emulator itself: orders, barriers, warp collectives, asynchronous copies, memory, faults.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <stdexcept>
#include <vector>

#include "kernels/rt/rt.h"
#include "tests/support/catch.h"

namespace headway::kernels {
namespace {

using emu::Mode;
using emu::Order;

template <class Kernel>
std::vector<int> run_ints(Kernel kernel, int count, dim3 grid, dim3 block, std::size_t smem = 0) {
  DeviceBuffer<int> out(count);
  launch(kernel, grid, block, smem, Stream{}, out.data());
  return out.download();
}

// --- Orders --------------------------------------------------------------------------------------

// Each thread notes its turn before and after a barrier: log[0] counts, then block * 1000 + thread.
__global__ void order_kernel(int* log) {
  const int mark = static_cast<int>(blockIdx.x) * 1000 + static_cast<int>(threadIdx.x);
  log[1 + log[0]++] = mark;
  __syncwarp();
  log[1 + log[0]++] = mark;
}

std::vector<int> turns(Order order, std::uint64_t seed, unsigned blocks, unsigned threads) {
  const emu::ScopedMode scoped({order, true, seed});
  DeviceBuffer<int> log(1 + 2 * blocks * threads);
  log.upload({0});
  launch(&order_kernel, blocks, threads, 0, Stream{}, log.data());
  std::vector<int> result = log.download();
  result.erase(result.begin());
  return result;
}

// The marks in the order of their first (or last) turn.
std::vector<int> firsts(const std::vector<int>& marks) {
  std::vector<int> result;
  for (const int mark : marks) {
    if (std::find(result.begin(), result.end(), mark) == result.end()) result.push_back(mark);
  }
  return result;
}

TEST_CASE("thread orders: fair ones take every thread once a phase, warp-first ones run a warp on",
          "[unit]") {
  std::vector<int> ascending(64), descending(64);
  for (int i = 0; i < 64; ++i) ascending[i] = i;
  for (int i = 0; i < 64; ++i) descending[i] = 63 - i;
  for (const bool reverse : {false, true}) {
    const auto& want = reverse ? descending : ascending;
    const auto fair = turns(reverse ? Order::kReverse : Order::kForward, 1, 1, 64);
    const auto warps = turns(reverse ? Order::kWarpReverse : Order::kWarpForward, 1, 1, 64);
    CHECK(firsts(fair) == want);
    CHECK(firsts(warps) == want);
    // Fair: the first thread's second turn comes when the other warp has had its first. Warp-first:
    // the first warp has ended before the other begins.
    const auto second_turn = [&](const std::vector<int>& log) {
      return std::find(log.begin() + 1, log.end(), want[0]) - log.begin();
    };
    CHECK(second_turn(fair) >= 64);
    CHECK(second_turn(warps) < 64);
    CHECK(std::set<int>(warps.begin(), warps.begin() + 64) ==
          std::set<int>(want.begin(), want.begin() + 32));
  }
}

TEST_CASE("shuffled and random orders are permutations that their seed decides", "[unit]") {
  for (const Order order : {Order::kShuffled, Order::kWarpRandom}) {
    const std::vector<int> one = turns(order, 1, 3, 64);
    CHECK(one == turns(order, 1, 3, 64));
    CHECK(one != turns(order, 2, 3, 64));
    std::multiset<int> marks(one.begin(), one.end());
    CHECK(marks.size() == 2 * 3 * 64);
    CHECK(std::set<int>(one.begin(), one.end()).size() == 3 * 64);
  }
}

TEST_CASE("blocks of a grid come each once, in the direction of the order", "[unit]") {
  for (const Mode& mode : emu::all_modes(4)) {
    const std::vector<int> order = turns(mode.order, mode.seed, 7, 1);
    std::set<int> blocks;
    for (const int mark : order) blocks.insert(mark / 1000);
    CHECK(blocks.size() == 7);
    if (mode.order == Order::kForward) CHECK(order.front() == 0);
    if (mode.order == Order::kReverse) CHECK(order.front() == 6000);
  }
}

__global__ void place_kernel(int* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned size = blockDim.x * blockDim.y * blockDim.z;
  out[block * size + thread] = static_cast<int>(threadIdx.y * 100 + blockIdx.z);
}

TEST_CASE("grids and blocks of three dimensions", "[unit]") {
  const std::vector<int> out =
      run_ints(&place_kernel, 2 * 3 * 2 * 4 * 2 * 3, dim3(2, 3, 2), dim3(4, 2, 3));
  CHECK(out[0] == 0);
  CHECK(out[4] == 100);                     // thread (0, 1, 0)
  CHECK(out[(2 * 3) * 24 + 5] == 101);      // block (0, 0, 1), thread (1, 1, 0)
}

// --- Barriers and warp collectives ---------------------------------------------------------------

__global__ void vote_kernel(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  if (t >= 70) return;  // threads that have exited count as arrived
  out[t] = __syncthreads_count(t % 3 == 0);
  out[threads + t] = __syncthreads_or(t == 69);
  out[2 * threads + t] = __syncthreads_and(t < 69);
  out[3 * threads + t] = __syncthreads_and(t < 70);
}

TEST_CASE("block votes count the live threads", "[unit]") {
  for (const Mode& mode : emu::all_modes()) {
    const emu::ScopedMode scoped(mode);
    const std::vector<int> out = run_ints(&vote_kernel, 400, 1, 100);
    int wrong = 0;
    for (int t = 0; t < 70; ++t) {
      wrong += out[t] != 24;  // 0, 3, ..., 69
      wrong += out[100 + t] != 1;
      wrong += out[200 + t] != 0;
      wrong += out[300 + t] != 1;
    }
    CHECK(wrong == 0);
  }
}

__global__ void shuffle_kernel(int* out) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int value = 10 * static_cast<int>(threadIdx.x);
  const unsigned full = 0xffffffffu;
  int* mine = out + 9 * threadIdx.x;
  mine[0] = __shfl_sync(full, value, 5);
  mine[1] = __shfl_sync(full, value, 3, 8);
  mine[2] = __shfl_xor_sync(full, value, 16);
  mine[3] = __shfl_up_sync(full, value, 1);
  mine[4] = __shfl_down_sync(full, value, 2, 16);
  mine[5] = static_cast<int>(__ballot_sync(full, lane % 4 == 1));
  mine[6] = __any_sync(full, lane == 31) + 2 * __all_sync(full, lane < 31);
  // Half warps apart, each in a loop of its own length.
  const unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  int sum = value;
  for (int step = lane < 16 ? 8 : 4; step > 0; step /= 2) sum += __shfl_xor_sync(half, sum, step);
  mine[7] = sum;
  const double wide = __shfl_sync(full, 0.5 * lane, 31);
  mine[8] = static_cast<int>(2 * wide);
}

TEST_CASE("shuffles and votes within a warp", "[unit]") {
  for (const Mode& mode : emu::all_modes()) {
    const emu::ScopedMode scoped(mode);
    const std::vector<int> out = run_ints(&shuffle_kernel, 64 * 9, 1, 64);
    int wrong = 0;
    for (int t = 0; t < 64; ++t) {
      const int lane = t % 32;
      const int first = 10 * (t - lane);  // lane 0's value
      const int* mine = out.data() + 9 * t;
      wrong += mine[0] != first + 50;
      wrong += mine[1] != first + 10 * (lane / 8 * 8 + 3);
      wrong += mine[2] != first + 10 * (lane ^ 16);
      wrong += mine[3] != first + 10 * (lane == 0 ? 0 : lane - 1);
      wrong += mine[4] != first + 10 * (lane % 16 >= 14 ? lane : lane + 2);
      wrong += mine[5] != 0x22222222;
      wrong += mine[6] != 1;
      const int from = lane < 16 ? 0 : lane / 8 * 8;
      const int lanes = lane < 16 ? 16 : 8;
      int sum = 0;
      for (int i = from; i < from + lanes; ++i) sum += first + 10 * i;
      wrong += mine[7] != sum;
      wrong += mine[8] != 31;
    }
    CHECK(wrong == 0);
  }
}

__global__ void atomics_kernel(int* out, unsigned* counter, float* sum) {
  atomicAdd(out, 1);
  atomicMax(out + 1, static_cast<int>(threadIdx.x));
  atomicMin(out + 2, static_cast<int>(threadIdx.x) - 5);
  atomicCAS(out + 3, 0, 7);
  atomicAdd(sum, 0.5f);
  __threadfence();
  // The last block to come finds that it is the last, and the counter is zero again.
  if (threadIdx.x == 0 && atomicInc(counter, gridDim.x - 1) == gridDim.x - 1)
    atomicExch(out + 4, 9);
}

TEST_CASE("atomics", "[unit]") {
  DeviceBuffer<int> out(std::vector<int>{0, -1, 100, 0, 0});
  DeviceBuffer<unsigned> counter(std::vector<unsigned>{0});
  DeviceBuffer<float> sum(std::vector<float>{0});
  launch(&atomics_kernel, 3, 64, 0, Stream{}, out.data(), counter.data(), sum.data());
  CHECK(out.download() == std::vector<int>{192, 63, -5, 7, 9});
  CHECK(counter.download()[0] == 0);
  CHECK(sum.download()[0] == 96.0f);
}

// --- Asynchronous copies -------------------------------------------------------------------------

// Four groups of one copy; reads after the first three are waited for, then after all. The last
// copy is masked out: it writes zeros and reads nothing.
__global__ void copies_kernel(const float* x, float* out) {
  DYN_SMEM(float, tile);
  for (int i = 0; i < 16; ++i) tile[i] = -1;
  for (int group = 0; group < 4; ++group) {
    if (group < 3) {
      cp_async16(tile + 4 * group, x + 4 * group);
    } else {
      cp_async16(tile + 4 * group, nullptr, false);
    }
    cp_async_commit();
  }
  for (int i = 0; i < 16; ++i) out[i] = tile[i];
  cp_async_wait<2>();
  for (int i = 0; i < 16; ++i) out[16 + i] = tile[i];
  cp_async_wait<0>();
  for (int i = 0; i < 16; ++i) out[32 + i] = tile[i];
}

TEST_CASE("a deferred copy lands when its group is waited for, an eager one at once", "[unit]") {
  const DeviceBuffer<float> x(std::vector<float>(12, 5.0f));
  for (const bool deferred : {true, false}) {
    const emu::ScopedMode scoped({Order::kForward, deferred, 1});
    DeviceBuffer<float> out(48);
    launch(&copies_kernel, 1, 1, 64, Stream{}, x.data(), out.data());
    const std::vector<float> got = out.download();
    for (int i = 0; i < 16; ++i) {
      const float landed = i < 12 ? 5.0f : 0.0f;
      CHECK(got[i] == (deferred ? -1.0f : landed));
      CHECK(got[16 + i] == (deferred && i >= 8 ? -1.0f : landed));
      CHECK(got[32 + i] == landed);
    }
  }
}

// --- Memory --------------------------------------------------------------------------------------

// Counts what is not NaN in fresh shared memory, then writes it full for the next block to find.
__global__ void poison_kernel(int* out) {
  DYN_SMEM(float, dynamic);
  SHARED(bf16, fixed, 8);
  SHARED(float, other, 4);
  int clean = 0;
  for (int i = 0; i < 8; ++i) clean += dynamic[i] == dynamic[i];
  for (int i = 0; i < 8; ++i) clean += to_f(fixed[i]) == to_f(fixed[i]);
  for (int i = 0; i < 4; ++i) clean += other[i] == other[i];
  out[blockIdx.x] = clean;
  for (int i = 0; i < 8; ++i) dynamic[i] = 1;
  for (int i = 0; i < 8; ++i) fixed[i] = from_f<bf16>(1.0f);
  for (int i = 0; i < 4; ++i) other[i] = 1;
}

TEST_CASE("shared memory is NaN at the start of every block, device memory when it is new",
          "[unit]") {
  CHECK(run_ints(&poison_kernel, 3, 3, 1, 32) == std::vector<int>{0, 0, 0});
  const DeviceBuffer<float> fresh(3);
  for (const float value : fresh.download()) CHECK(std::isnan(value));
}

TEST_CASE("device buffers move, and refuse more than they hold", "[unit]") {
  DeviceBuffer<int> a(std::vector<int>{1, 2, 3});
  DeviceBuffer<int> b = std::move(a);
  CHECK(b.download() == std::vector<int>{1, 2, 3});
  CHECK(b.bytes() == 12);
  b.upload({9});
  CHECK(b.download() == std::vector<int>{9, 2, 3});
  CHECK_THROWS_AS(b.upload({1, 2, 3, 4}), std::out_of_range);
  CHECK(DeviceBuffer<int>().download().empty());
}

// --- Arithmetic ----------------------------------------------------------------------------------

TEST_CASE("bit and packed arithmetic", "[unit]") {
  CHECK(lop3<0xea>(0xf0f0f0f0u, 0xff00ff00u, 0x000000ffu) ==
        ((0xf0f0f0f0u & 0xff00ff00u) | 0x000000ffu));
  CHECK(lop3<0x96>(0x12345678u, 0x9abcdef0u, 0x0f0f0f0fu) ==
        (0x12345678u ^ 0x9abcdef0u ^ 0x0f0f0f0fu));
  CHECK(__byte_perm(0x33221100u, 0x77665544u, 0x7531u) == 0x77553311u);
  CHECK(__byte_perm(0x00000080u, 0, 0x8888u) == 0xffffffffu);  // the sign of byte 0, four times
  CHECK(__dp4a(0x01ff0203, 0x02030405, 10) == 10 + 1 * 2 - 1 * 3 + 2 * 4 + 3 * 5);
  CHECK(fma2<f16>(pack2<f16>(2, 3), pack2<f16>(4, 5), pack2<f16>(1, -1)) == pack2<f16>(9, 14));
  CHECK(__clz(1) == 31);
  CHECK(__ffs(8) == 4);
  CHECK(fast_exp2(3.0f) == 8.0f);
}

// --- Faults --------------------------------------------------------------------------------------

__global__ void nothing_kernel(int*) {}
__global__ void outsider_kernel(int* out) {
  out[threadIdx.x] = __shfl_sync(0x0000fffeu, 1, 1);  // lane 0 calls though the mask leaves it out
}
__global__ void short_warp_kernel(int* out) {
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, static_cast<int>(threadIdx.x), 1) +
                     10 * __all_sync(0xffffffffu, 1) +
                     static_cast<int>(100 * __ballot_sync(0xffffffffu, 1));
}
__global__ void short_mma_kernel(int*) {
  float c[4] = {};
  const std::uint32_t a[4] = {}, b[2] = {};
  mma_m16n8k16<bf16>(c, a, b);
}
__global__ void parted_kernel(int* out) {
  if (threadIdx.x < 16) {
    __syncwarp();
  } else {
    out[0] = __shfl_sync(0xffffffffu, 1, 0);
  }
}
__global__ void stranger_kernel(int* out) {
  if (threadIdx.x < 4) out[threadIdx.x] = __shfl_sync(0x0000000fu, 1, 9);
}
__global__ void waits_elsewhere_kernel(int*) {
  if (threadIdx.x < 32 + 7) __syncthreads();
  if (threadIdx.x >= 32 + 7) __syncwarp();
}
__global__ void misaligned_kernel(int* out) {
  if (blockIdx.x == 1 && threadIdx.x == 2) store16(out, load16(out + 1));
}
__global__ void throwing_kernel(int*) { throw std::runtime_error("from a kernel"); }

std::string fault_of(void (*kernel)(int*), dim3 grid, dim3 block, std::size_t smem = 0) {
  DeviceBuffer<int> memory(64);
  try {
    launch(kernel, grid, block, smem, Stream{}, memory.data());
  } catch (const emu::Fault& fault) {
    return fault.what();
  }
  return "";
}

TEST_CASE("what a kernel may not do ends its launch with a fault that says where", "[unit]") {
  CHECK_THAT(fault_of(&outsider_kernel, 1, 32), ContainsSubstring("leaves out the calling lane"));
  CHECK_THAT(fault_of(&parted_kernel, 1, 32), ContainsSubstring("different collectives"));
  CHECK_THAT(fault_of(&stranger_kernel, 1, 32), ContainsSubstring("reads lane 9"));
  CHECK_THAT(fault_of(&waits_elsewhere_kernel, 2, 64),
             ContainsSubstring("warp 1: __syncwarp was reached by 25 lanes (ffffff80)"));
  CHECK_THAT(fault_of(&misaligned_kernel, 2, 32),
             ContainsSubstring("block (1, 0, 0), thread (2, 0, 0): load16 of 16 bytes"));
  // And the emulator goes on.
  CHECK(run_ints(&poison_kernel, 1, 1, 1, 32) == std::vector<int>{0});
}

TEST_CASE(
    "a mask's lanes past the block's last thread are not waited for, but mma needs a whole warp",
    "[unit]") {
  CHECK(run_ints(&short_warp_kernel, 6, 1, 6) ==
        std::vector<int>{6311, 6310, 6313, 6312, 6315, 6314});
  CHECK_THAT(fault_of(&short_mma_kernel, 1, 16), ContainsSubstring("mma.sync needs all 32 lanes"));
}

TEST_CASE("launches beyond what the hardware has are refused", "[unit]") {
  CHECK(fault_of(&nothing_kernel, 1, 1024, 227 * 1024).empty());
  CHECK_THAT(fault_of(&nothing_kernel, 1, 1025), ContainsSubstring("1025 x 1 x 1 threads"));
  CHECK_THAT(fault_of(&nothing_kernel, 1, 32, 227 * 1024 + 1), ContainsSubstring("227 KiB"));
  CHECK_THAT(fault_of(&nothing_kernel, 0, 32), ContainsSubstring("a grid of 0 x 1 x 1"));
  CHECK_THAT(fault_of(&nothing_kernel, dim3(1, 65536), 32), ContainsSubstring("65535"));
}

TEST_CASE("an exception in a kernel reaches the host, and the next launch works", "[unit]") {
  DeviceBuffer<int> memory(8);
  CHECK_THROWS_WITH(launch(&throwing_kernel, 1, 64, 0, Stream{}, memory.data()), "from a kernel");
  CHECK(run_ints(&poison_kernel, 2, 2, 1, 32) == std::vector<int>{0, 0});
}

}  // namespace
}  // namespace headway::kernels
