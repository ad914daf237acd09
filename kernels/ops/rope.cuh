// Rotary position embedding, in place, on queries and keys (the halves are paired, as GPT-NeoX and
// Llama have it). For token t at position s, each head and each i < head_dim / 2, with
// angle = s * theta^(-2i / head_dim):
//
//   x[i]                <- x[i] * cos(angle) - x[i + head_dim/2] * sin(angle)
//   x[i + head_dim/2]   <- x[i + head_dim/2] * cos(angle) + x[i] * sin(angle)
//
// Cosines and sines come from an f32 table by position, as engines keep it. One thread takes 16
// bytes of each half. bytes = 2 * tokens * (heads + kv_heads) * head_dim * sizeof(T) + the table's
// rows; 3 FLOPs an element.

#include <cmath>

#include "kernels/ops/prepared.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

template <class T>
struct Rope {
  T* q;                           // [tokens], rows q_stride apart, each [heads][head_dim]
  T* k;                           // [tokens], rows k_stride apart, each [kv_heads][head_dim]
  const std::int32_t* positions;  // [tokens]
  const float* table;             // [positions][head_dim]: head_dim/2 cosines, then sines
  int tokens;
  int heads;
  int kv_heads;
  int head_dim;  // a multiple of 16
  int q_stride;  // elements, multiples of 8
  int k_stride;
};

namespace {

constexpr int kRopeThreads = 256;

template <class T>
__global__ void __launch_bounds__(kRopeThreads) rope_kernel(Rope<T> p) {
  constexpr int kVector = Pack16<T>::kCount;
  const int half = p.head_dim / 2;
  const int vectors = half / kVector;
  const int token_vectors = (p.heads + p.kv_heads) * vectors;
  const std::int64_t index = std::int64_t{blockIdx.x} * kRopeThreads + threadIdx.x;
  const int token = static_cast<int>(index / token_vectors);
  if (token >= p.tokens) return;
  const int within = static_cast<int>(index - std::int64_t{token} * token_vectors);
  const int head = within / vectors;
  const int column = (within - head * vectors) * kVector;

  T* row = head < p.heads
               ? p.q + std::int64_t{token} * p.q_stride + head * p.head_dim
               : p.k + std::int64_t{token} * p.k_stride + (head - p.heads) * p.head_dim;
  const float* cosines = p.table + std::int64_t{p.positions[token]} * p.head_dim + column;
  const float* sines = cosines + half;
  Pack16<T> first = load16(row + column);
  Pack16<T> second = load16(row + half + column);
#pragma unroll
  for (int j = 0; j < kVector; j += 4) {
    const Pack16<float> c = load16(cosines + j);
    const Pack16<float> s = load16(sines + j);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float x = to_f(first.v[j + i]);
      const float y = to_f(second.v[j + i]);
      first.v[j + i] = from_f<T>(x * c.v[i] - y * s.v[i]);
      second.v[j + i] = from_f<T>(y * c.v[i] + x * s.v[i]);
    }
  }
  store16(row + column, first);
  store16(row + half + column, second);
}

template <class T>
void rope(const Rope<T>& p, Stream stream) {
  const std::int64_t items = std::int64_t{p.tokens} * (p.heads + p.kv_heads) *
                             (p.head_dim / 2 / Pack16<T>::kCount);
  if (items == 0) return;
  launch(&rope_kernel<T>, static_cast<unsigned>((items + kRopeThreads - 1) / kRopeThreads),
         kRopeThreads, 0, stream, p);
}

// The table for positions 0 .. count - 1.
inline std::vector<float> rope_table(int count, int head_dim, double theta) {
  std::vector<float> table(std::size_t(count) * head_dim);
  for (int s = 0; s < count; ++s) {
    for (int i = 0; i < head_dim / 2; ++i) {
      const double angle = s * std::pow(theta, -2.0 * i / head_dim);
      table[std::size_t(s) * head_dim + i] = static_cast<float>(std::cos(angle));
      table[std::size_t(s) * head_dim + head_dim / 2 + i] = static_cast<float>(std::sin(angle));
    }
  }
  return table;
}

#ifndef HEADWAY_LAUNCHERS_ONLY  // an engine that only calls the kernel
// --- Reference and checks --------------------------------------------------------------------

// Rotates the first `width` elements of every row of `stride`.
inline void rope_reference(std::vector<double>& rows, const std::vector<std::int32_t>& positions,
                           int stride, int width, int head_dim, double theta) {
  for (std::size_t t = 0; t < positions.size(); ++t) {
    for (int head = 0; head < width; head += head_dim) {
      double* x = rows.data() + t * stride + head;
      for (int i = 0; i < head_dim / 2; ++i) {
        const double angle = positions[t] * std::pow(theta, -2.0 * i / head_dim);
        const double a = x[i];
        const double b = x[i + head_dim / 2];
        x[i] = a * std::cos(angle) - b * std::sin(angle);
        x[i + head_dim / 2] = b * std::cos(angle) + a * std::sin(angle);
      }
    }
  }
}

// Queries and keys lie in one merged row [q | k | v], of which v must stay as it is.
template <class T>
CheckResult check_rope_case(int tokens, int heads, int kv_heads, int head_dim) {
  constexpr int kPositions = 300;
  const int q_width = heads * head_dim;
  const int k_width = kv_heads * head_dim;
  const int stride = q_width + 2 * k_width;
  std::vector<std::int32_t> positions = random_permutation(kPositions, 5);
  positions.resize(tokens);
  const std::vector<T> rows = normal_values<T>(std::size_t(tokens) * stride, 1);
  DeviceBuffer<T> d_rows(rows);
  const DeviceBuffer<std::int32_t> d_positions(positions);
  const DeviceBuffer<float> d_table(rope_table(kPositions, head_dim, 10000));
  if (tokens > 0) {
    rope<T>({d_rows.data(), d_rows.data() + q_width, d_positions.data(), d_table.data(), tokens,
             heads, kv_heads, head_dim, stride, stride},
            {});
  }
  device_synchronize();
  std::vector<double> reference = to_doubles(rows);
  rope_reference(reference, positions, stride, q_width + k_width, head_dim, 10000);
  return {std::to_string(tokens) + " tokens, " + std::to_string(heads) + "/" +
              std::to_string(kv_heads) + " heads of " + std::to_string(head_dim),
          relative_error(d_rows.download(), reference), kRoundingTolerance<T>};
}

template <class T>
std::vector<CheckResult> check_rope(int head_dim) {
  return {check_rope_case<T>(0, 4, 1, head_dim), check_rope_case<T>(1, 1, 1, head_dim),
          check_rope_case<T>(5, 7, 1, head_dim), check_rope_case<T>(9, 8, 2, head_dim)};
}

// --- Registration ----------------------------------------------------------------------------

template <class T>
std::unique_ptr<Prepared> prepare_rope(int head_dim, const Case& c, std::uint64_t seed) {
  const int heads = static_cast<int>(c.key[0]);
  const int kv_heads = static_cast<int>(c.key[1]);
  const int tokens = static_cast<int>(c.key[2]);
  constexpr int kPositions = 4096;
  std::vector<std::int32_t> positions(tokens);
  TestRandom random(seed);
  for (std::int32_t& position : positions) position = random.below(kPositions);
  const int stride = (heads + 2 * kv_heads) * head_dim;
  using Buffer = DeviceBuffer<T>;
  Buffer rows = normal_buffer<T>(std::size_t(tokens) * stride, seed);
  DeviceBuffer<float> table(rope_table(kPositions, head_dim, 500000));
  DeviceBuffer<std::int32_t> d_positions(positions);
  return prepared([=, rows = std::move(rows), table = std::move(table),
                   positions = std::move(d_positions)](int, Stream stream) mutable {
    rope<T>({rows.data(), rows.data() + heads * head_dim, positions.data(), table.data(), tokens,
             heads, kv_heads, head_dim, stride, stride},
            stream);
  });
}

template <class T>
KernelEntry rope_entry(int head_dim) {
  KernelEntry entry;
  entry.name = "rope";
  entry.op = "rope";
  entry.impl = "own";
  entry.variant = {{"dtype", kTypeName<T>}, {"head_dim", std::to_string(head_dim)}};
  entry.check = [=] { return check_rope<T>(head_dim); };
  entry.work = [=](const Case& c) {
    const double tokens = static_cast<double>(c.key[2]);
    const double elements = tokens * static_cast<double>(c.key[0] + c.key[1]) * head_dim;
    const double table_row = head_dim * sizeof(float) + sizeof(std::int32_t);
    const double row = static_cast<double>(c.key[0] + 2 * c.key[1]) * head_dim * sizeof(T);
    return Work{3 * elements, 2 * elements * sizeof(T) + tokens * table_row, 0,
                tokens * row + 4096.0 * head_dim * sizeof(float)};
  };
  entry.prepare = [=](const Case& c, int /*copies: nothing is cold*/, std::uint64_t seed) {
    return prepare_rope<T>(head_dim, c, seed);
  };
  return entry;
}

}  // namespace

void add_rope(std::vector<KernelEntry>& table) {
  for (const int head_dim : {64, 128}) {
    table.push_back(rope_entry<bf16>(head_dim));
    table.push_back(rope_entry<f16>(head_dim));
  }
}
#else
}  // namespace
#endif

}  // namespace headway::kernels
