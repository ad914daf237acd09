// Writes the keys and values of new tokens into their places in a paged cache:
//
//   cache.k[slots[t]][h][i] = k[t][h][i], and the same for v,
//
// where slots[t] = page * page_size + offset is the row of PagedKv that the scheduler gave the
// token; a negative slot (padding) is skipped. One thread takes 16 bytes. bytes = 4 * tokens *
// kv_heads * head_dim * sizeof(T) + the slots; no FLOPs. The slots are all different.

#include <algorithm>

#include "kernels/ops/paged_kv.h"
#include "kernels/ops/prepared.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

template <class T>
struct KvWrite {
  const T* k;                 // [tokens], rows `stride` apart, each [kv_heads][head_dim]
  const T* v;                 // likewise
  const std::int32_t* slots;  // [tokens]
  PagedKv<T> cache;           // its page table is not read
  int tokens;
  int row;     // elements of a row: kv_heads * head_dim, a multiple of 8
  int stride;  // elements, a multiple of 8
};

namespace {

constexpr int kKvWriteThreads = 256;

template <class T>
__global__ void __launch_bounds__(kKvWriteThreads) kv_write_kernel(KvWrite<T> p) {
  constexpr int kVector = Pack16<T>::kCount;
  const int vectors = p.row / kVector;
  const std::int64_t index = std::int64_t{blockIdx.x} * kKvWriteThreads + threadIdx.x;
  const int token = static_cast<int>(index / vectors);
  if (token >= p.tokens) return;
  const std::int64_t slot = p.slots[token];
  if (slot < 0) return;
  const int column = static_cast<int>(index - std::int64_t{token} * vectors) * kVector;
  const std::int64_t from = std::int64_t{token} * p.stride + column;
  const Pack16<T> k = load16(p.k + from);
  const Pack16<T> v = load16(p.v + from);
  store16(p.cache.k + slot * p.row + column, k);
  store16(p.cache.v + slot * p.row + column, v);
}

template <class T>
void kv_write(const KvWrite<T>& p, Stream stream) {
  const std::int64_t items = std::int64_t{p.tokens} * (p.row / Pack16<T>::kCount);
  if (items == 0) return;
  launch(&kv_write_kernel<T>,
         static_cast<unsigned>((items + kKvWriteThreads - 1) / kKvWriteThreads), kKvWriteThreads,
         0, stream, p);
}

#ifndef HEADWAY_LAUNCHERS_ONLY  // an engine that only calls the kernel
// --- Reference and checks --------------------------------------------------------------------

// Two sequences' new tokens: slots by a permuted page table, every fifth token padding.
inline std::vector<std::int32_t> kv_write_slots(int tokens, int page, int pages) {
  const std::vector<std::int32_t> table = random_permutation(pages, 11);
  std::vector<std::int32_t> slots(tokens);
  for (int t = 0; t < tokens; ++t) {
    slots[t] = t % 5 == 4 ? -1 : table[t / page] * page + t % page;
  }
  return slots;
}

// Copies are exact: what differs, or was written though nobody asked, is an infinite error.
template <class T>
CheckResult check_kv_write_case(int tokens, int kv_heads, int head_dim, int page) {
  const int row = kv_heads * head_dim;
  const int stride = 3 * row;  // of a merged projection [q | k | v]
  const int pages = tokens / page + 3;
  const std::vector<T> input = normal_values<T>(std::size_t(tokens) * stride, 1);
  const std::vector<T> before = normal_values<T>(std::size_t(pages) * page * row, 2);
  const std::vector<std::int32_t> slots = kv_write_slots(tokens, page, pages);
  const DeviceBuffer<T> d_input(input);
  const DeviceBuffer<std::int32_t> d_slots(slots);
  DeviceBuffer<T> d_k(before), d_v(before);
  PagedKv<T> cache;
  cache.k = d_k.data();
  cache.v = d_v.data();
  cache.page_size = page;
  cache.kv_heads = kv_heads;
  if (tokens > 0) {
    kv_write<T>({d_input.data() + row, d_input.data() + 2 * row, d_slots.data(), cache, tokens,
                 row, stride},
                {});
  }
  device_synchronize();

  std::vector<double> k = to_doubles(before);
  std::vector<double> v = k;
  for (int t = 0; t < tokens; ++t) {
    if (slots[t] < 0) continue;
    for (int i = 0; i < row; ++i) {
      k[std::size_t(slots[t]) * row + i] = to_f(input[std::size_t(t) * stride + row + i]);
      v[std::size_t(slots[t]) * row + i] = to_f(input[std::size_t(t) * stride + 2 * row + i]);
    }
  }
  return {std::to_string(tokens) + " tokens, " + std::to_string(kv_heads) + " heads of " +
              std::to_string(head_dim) + ", pages of " + std::to_string(page),
          std::max(relative_error(d_k.download(), k), relative_error(d_v.download(), v)), 0};
}

template <class T>
std::vector<CheckResult> check_kv_write(int head_dim, int page) {
  return {
      check_kv_write_case<T>(0, 1, head_dim, page), check_kv_write_case<T>(1, 1, head_dim, page),
      check_kv_write_case<T>(37, 2, head_dim, page), check_kv_write_case<T>(19, 3, head_dim, 1)};
}

// --- Registration ----------------------------------------------------------------------------

// The cache of one set: enough pages for every token to have a place of its own and then some.
inline int kv_write_pages(int tokens, int page) { return 2 * ((tokens + page - 1) / page); }

template <class T>
std::unique_ptr<Prepared> prepare_kv_write(int head_dim, int page, const Case& c, int copies,
                                           std::uint64_t seed) {
  const int row = static_cast<int>(c.key[0]) * head_dim;
  const int tokens = static_cast<int>(c.key[1]);
  const int pages = kv_write_pages(tokens, page);
  using Buffer = DeviceBuffer<T>;
  const std::vector<std::int32_t> order = random_permutation(pages, seed);
  std::vector<std::int32_t> slots(tokens);
  for (int t = 0; t < tokens; ++t) slots[t] = order[t / page] * page + t % page;
  Buffer input = normal_buffer<T>(std::size_t(tokens) * 2 * row, seed);
  std::vector<Buffer> caches;
  for (int i = 0; i < copies; ++i) caches.emplace_back(std::size_t(2) * pages * page * row);
  DeviceBuffer<std::int32_t> d_slots(slots);
  return prepared([=, input = std::move(input), caches = std::move(caches),
                   slots = std::move(d_slots)](int copy, Stream stream) mutable {
    PagedKv<T> cache;
    cache.k = caches[copy].data();
    cache.v = cache.k + std::int64_t{pages} * page * row;
    cache.page_size = page;
    cache.kv_heads = row / head_dim;
    kv_write<T>({input.data(), input.data() + row, slots.data(), cache, tokens, row, 2 * row},
                stream);
  });
}

template <class T>
KernelEntry kv_write_entry(int head_dim, int page) {
  KernelEntry entry;
  entry.name = "kv_write";
  entry.op = "kv_write";
  entry.impl = "own";
  entry.variant = {{"kv", kTypeName<T>},
                   {"head_dim", std::to_string(head_dim)},
                   {"page", std::to_string(page)}};
  entry.check = [=] { return check_kv_write<T>(head_dim, page); };
  entry.work = [=](const Case& c) {
    const double row = static_cast<double>(c.key[0]) * head_dim * sizeof(T);
    const double tokens = static_cast<double>(c.key[1]);
    const double pages = kv_write_pages(static_cast<int>(c.key[1]), page);
    return Work{0, tokens * (4 * row + sizeof(std::int32_t)), 2 * pages * page * row,
                tokens * (2 * row + sizeof(std::int32_t))};
  };
  entry.prepare = [=](const Case& c, int copies, std::uint64_t seed) {
    return prepare_kv_write<T>(head_dim, page, c, copies, seed);
  };
  return entry;
}

}  // namespace

void add_kv_write(std::vector<KernelEntry>& table) {
  for (const int head_dim : {64, 128}) {
    table.push_back(kv_write_entry<bf16>(head_dim, 16));
    table.push_back(kv_write_entry<f16>(head_dim, 16));
  }
}
#else
}  // namespace
#endif

}  // namespace headway::kernels
