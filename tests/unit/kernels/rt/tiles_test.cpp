// ldmatrix, mma.sync and the warp tiles over them, against the PTX ISA's tables and a naive
// product.

#include <cmath>
#include <vector>

#include "kernels/ops/test_data.h"
#include "kernels/rt/rt.h"
#include "tests/support/catch.h"

namespace headway::kernels {
namespace {

// Four 8x8 matrices of marks (100 * matrix + 10 * row + column), each lane's registers written out.
template <bool kTranspose>
__global__ void ldmatrix_kernel(const std::uint16_t* marks, std::uint32_t* out) {
  DYN_SMEM(std::uint16_t, tile);
  const int lane = static_cast<int>(threadIdx.x);
  store16(tile + 8 * lane, load16(marks + 8 * lane));
  __syncwarp();
  std::uint32_t r[4];
  ldmatrix_x4<kTranspose>(r[0], r[1], r[2], r[3], tile + 8 * lane);
  for (int i = 0; i < 4; ++i) out[4 * lane + i] = r[i];
}

template <bool kTranspose>
void check_ldmatrix() {
  std::vector<std::uint16_t> marks(256);
  for (int i = 0; i < 256; ++i) {
    marks[i] = static_cast<std::uint16_t>(i / 64 * 100 + i / 8 % 8 * 10 + i % 8);
  }
  const DeviceBuffer<std::uint16_t> in(marks);
  DeviceBuffer<std::uint32_t> out(128);
  launch(&ldmatrix_kernel<kTranspose>, 1, 32, 512, Stream{}, in.data(), out.data());
  const std::vector<std::uint32_t> registers = out.download();
  int wrong = 0;
  for (int lane = 0; lane < 32; ++lane) {
    for (int m = 0; m < 4; ++m) {
      for (int half = 0; half < 2; ++half) {
        // PTX: thread t holds row t/4, columns 2 * (t % 4) + {0, 1}; .trans swaps row and column.
        const int a = lane / 4;
        const int b = 2 * (lane % 4) + half;
        const unsigned want =
            static_cast<unsigned>(100 * m + (kTranspose ? 10 * b + a : 10 * a + b));
        wrong += (registers[4 * lane + m] >> (16 * half) & 0xffffu) != want;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("ldmatrix gives each lane the elements that the PTX ISA names", "[unit]") {
  check_ldmatrix<false>();
  check_ldmatrix<true>();
}

// mma's fragments filled by the PTX ISA's formulas, without ldmatrix or the tiles.
template <class T>
__global__ void mma_kernel(const T* a, const T* b, float* c) {
  const int lane = static_cast<int>(threadIdx.x);
  const int group = lane / 4;
  const int in_group = lane % 4;
  std::uint32_t ra[4], rb[2];
  for (int i = 0; i < 8; ++i) {  // a_i: row group or group + 8, columns by pairs
    const int row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
    const int col = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    const std::uint32_t bits = a[row * 16 + col].bits;
    ra[i / 2] = i % 2 == 0 ? bits : ra[i / 2] | bits << 16;
  }
  for (int i = 0; i < 4; ++i) {
    const int row = in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
    const std::uint32_t bits = b[row * 8 + group].bits;
    rb[i / 2] = i % 2 == 0 ? bits : rb[i / 2] | bits << 16;
  }
  float rc[4];
  for (int i = 0; i < 4; ++i) {
    rc[i] = c[(i < 2 ? group : group + 8) * 8 + in_group * 2 + (i & 1)];
  }
  mma_m16n8k16<T>(rc, ra, rb);
  for (int i = 0; i < 4; ++i) {
    c[(i < 2 ? group : group + 8) * 8 + in_group * 2 + (i & 1)] = rc[i];
  }
}

template <class T>
double mma_error() {
  TestRandom random(5);
  const std::vector<T> a = random.normals<T>(256);
  const std::vector<T> b = random.normals<T>(128);
  const std::vector<float> c = random.normals<float>(128);
  std::vector<double> want(c.begin(), c.end());
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 8; ++n) {
      for (int k = 0; k < 16; ++k) {
        want[m * 8 + n] += static_cast<double>(to_f(a[m * 16 + k])) * to_f(b[k * 8 + n]);
      }
    }
  }
  const DeviceBuffer<T> d_a(a), d_b(b);
  DeviceBuffer<float> d_c(c);
  launch(&mma_kernel<T>, 1, 32, 0, Stream{}, d_a.data(), d_b.data(), d_c.data());
  return relative_error(d_c.download(), want);
}

TEST_CASE("mma.sync.m16n8k16 is a matrix product of its fragments", "[unit]") {
  CHECK(mma_error<bf16>() < 1e-6);
  CHECK(mma_error<f16>() < 1e-6);
}

constexpr int kM = 32, kN = 64, kK = 64;

// C[kM][kN] = A[kM][kK] * B, then P = round(C) times B2[kN][16]: two products with the first one's
// result kept in registers. One warp a 16-row band. B lies as [n][k] or as [k][n].
template <class T, class Swizzle, bool kBByN>
__global__ void tiles_kernel(const T* a, const T* b, const T* b2, float* c, float* d) {
  DYN_SMEM(T, smem);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int band = thread / 32 * 16;
  const SmemView<T, Swizzle> sa{smem, kK};
  const SmemView<T, Swizzle> sb{smem + kM * kK, kK};  // kK == kN: either way as long
  const SmemView<T> sb2{smem + kM * kK + kN * kK, 16};
  for (int i = thread * 8; i < kM * kK; i += 512) store16(sa.at(i / kK, i % kK), load16(a + i));
  for (int i = thread * 8; i < kN * kK; i += 512) store16(sb.at(i / kK, i % kK), load16(b + i));
  for (int i = thread * 8; i < kN * 16; i += 512) store16(sb2.at(i / 16, i % 16), load16(b2 + i));
  __syncthreads();

  TileC sums[kN / 8] = {};
  for (int k = 0; k < kK; k += 16) {
    const TileA<T> ta = load_a(sa.tile(band, k), lane);
    for (int n = 0; n < kN; n += 16) {
      TileB<T> tb[2];
      if constexpr (kBByN) {
        load_b_nk(tb, sb.tile(n, k), lane);
      } else {
        load_b_kn(tb, sb.tile(k, n), lane);
      }
      mma(sums[n / 8], ta, tb[0]);
      mma(sums[n / 8 + 1], ta, tb[1]);
    }
  }
  TileC second[2] = {};
  for (int n = 0; n < kN; n += 16) {
    TileB<T> tb[2];
    load_b_kn(tb, sb2.tile(n, 0), lane);
    const TileA<T> p = as_a<T>(sums[n / 8], sums[n / 8 + 1]);
    mma(second[0], p, tb[0]);
    mma(second[1], p, tb[1]);
  }
  for (int i = 0; i < 4; ++i) {
    const int row = band + TileC::row(lane, i);
    for (int n = 0; n < kN; n += 8) c[row * kN + n + TileC::col(lane, i)] = sums[n / 8].r[i];
    for (int h = 0; h < 2; ++h) d[row * 16 + 8 * h + TileC::col(lane, i)] = second[h].r[i];
  }
}

template <class T, class Swizzle, bool kBByN>
void check_tiles() {
  TestRandom random(9);
  const std::vector<T> a = random.normals<T>(kM * kK);
  const std::vector<T> b = random.normals<T>(kN * kK);
  const std::vector<T> b2 = random.normals<T>(kN * 16);
  std::vector<double> want(kM * kN), want2(kM * 16);
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      for (int k = 0; k < kK; ++k) {
        want[m * kN + n] += static_cast<double>(to_f(a[m * kK + k])) *
                            to_f(b[kBByN ? n * kK + k : k * kN + n]);
      }
      const double p = to_f(from_f<T>(static_cast<float>(want[m * kN + n])));
      for (int j = 0; j < 16; ++j) want2[m * 16 + j] += p * to_f(b2[n * 16 + j]);
    }
  }
  const DeviceBuffer<T> d_a(a), d_b(b), d_b2(b2);
  DeviceBuffer<float> c(kM * kN), d(kM * 16);
  for (const emu::Mode& mode : emu::all_modes()) {
    const emu::ScopedMode scoped(mode);
    INFO(kTypeName<T> << ", " << emu::text_of(mode));
    launch(&tiles_kernel<T, Swizzle, kBByN>, 1, 64, (kM * kK + kN * kK + kN * 16) * sizeof(T),
           Stream{}, d_a.data(), d_b.data(), d_b2.data(), c.data(), d.data());
    CHECK(relative_error(c.download(), want) < 2e-6);
    // P may round to the neighbour where the f32 sum is not the double one.
    CHECK(relative_error(d.download(), want2) < 2e-3);
  }
}

TEST_CASE("warp tiles multiply, in either layout of B and under every swizzle", "[unit]") {
  check_tiles<bf16, NoSwizzle, true>();
  check_tiles<bf16, Swizzle128, true>();
  check_tiles<bf16, Swizzle64, false>();
  check_tiles<f16, Swizzle128, false>();
}

// Bank = the 4-byte word's address mod 32: the eight 16-byte rows of one ldmatrix phase must not
// share any.
template <class Swizzle>
int worst_conflict(int stride) {
  static std::uint16_t memory[64 * 256];
  const SmemView<std::uint16_t, Swizzle> view{memory, stride};
  int worst = 0;
  for (int row = 0; row < 16; row += 8) {
    for (int col = 0; col < stride; col += 8) {
      int uses[8] = {};
      for (int i = 0; i < 8; ++i) {
        const auto offset = (view.at(row + i, col) - memory) * sizeof(std::uint16_t);
        worst = std::max(worst, ++uses[offset / 16 % 8]);
      }
    }
  }
  return worst;
}

TEST_CASE("swizzles keep the rows of an ldmatrix phase in different banks", "[unit]") {
  CHECK(worst_conflict<NoSwizzle>(64) == 8);
  CHECK(worst_conflict<Swizzle128>(64) == 1);
  CHECK(worst_conflict<Swizzle128>(128) == 1);
  CHECK(worst_conflict<NoSwizzle>(32) == 4);
  CHECK(worst_conflict<Swizzle64>(32) == 1);
}

}  // namespace
}  // namespace headway::kernels
