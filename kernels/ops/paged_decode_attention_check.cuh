#pragma once

// Paged decode attention: the check of every version against the double reference, and the
// registration.

#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/ops/attention_data.h"
#include "kernels/ops/attention_tile.cuh"
#include "kernels/ops/device_limits.h"
#include "kernels/ops/paged_decode_attention.cuh"
#include "kernels/ops/paged_kv.h"
#include "kernels/ops/split_kv.cuh"
#include "kernels/registry.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

// --- Check -------------------------------------------------------------------------------------

struct DecodeCase {
  std::vector<std::int32_t> lengths;
  int kv_heads, group, queries, page_size;
  int slots;  // blocks the plan reckons with: many cut sequences up, one does not
};

// What depends on the rows' packing alone is tried with one head_dim and one dtype.
inline std::vector<DecodeCase> decode_cases(int head_dim, bool packing) {
  std::vector<DecodeCase> cases{{{0, 1, 64, 150}, 2, 4, 1, 16, 64}};          // 150: two pieces
  if (head_dim == 128 && packing) cases.push_back({{40, 3}, 1, 8, 3, 7, 8});  // 24 rows
  if (head_dim == 64 && packing) {
    cases.push_back({{70}, 1, 16, 5, 64, 1});  // 80 rows: two blocks of 64, not cut up
    cases.push_back({{33}, 1, 1, 1, 1, 1});    // no group, pages of one token
  }
  return cases;
}

template <class T>
void check_decode_case(const DecodeCase& c, int head_dim, int window,
                       std::vector<CheckResult>& results) {
  const CacheData<T> cache(c.lengths, c.page_size, c.kv_heads, head_dim, true, 3);
  const int heads = c.kv_heads * c.group;
  std::vector<QueryToken> tokens;   // those of sequences that hold as many
  std::vector<std::size_t> places;  // and where their outputs begin
  const auto row = static_cast<std::size_t>(heads) * static_cast<std::size_t>(head_dim);
  for (std::size_t s = 0; s < c.lengths.size(); ++s) {
    for (int i = 0; i < c.queries && c.lengths[s] > 0; ++i) {
      tokens.push_back({s, c.lengths[s] - c.queries + i});
      places.push_back((s * static_cast<std::size_t>(c.queries) + static_cast<std::size_t>(i)) *
                       row);
    }
  }
  const auto all = c.lengths.size() * static_cast<std::size_t>(c.queries) * row;
  const std::vector<T> q = TestRandom(5).normals<T>(all, 0.0, 2.0);
  std::vector<T> asked;
  for (const std::size_t place : places) {
    asked.insert(asked.end(), q.begin() + static_cast<std::ptrdiff_t>(place),
                 q.begin() + static_cast<std::ptrdiff_t>(place + row));
  }
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
  const std::vector<double> asked_want =
      attention_reference(cache, asked, tokens, heads, head_dim, scale, window);
  std::vector<double> want(all, 0.0);  // zeros where there is nothing to attend to
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::copy_n(asked_want.begin() + static_cast<std::ptrdiff_t>(i * row), row,
                want.begin() + static_cast<std::ptrdiff_t>(places[i]));
  }

  DeviceCache<T> d_cache(cache);
  DeviceBuffer<T> d_q(q), out(all), plain(all);
  const SplitPlan plan =
      plan_split_kv(c.lengths, c.queries, window, decode_units(heads, c.kv_heads, c.queries),
                    c.slots, kDecodeTile);
  DeviceSplit split(plan, c.queries * heads, head_dim);
  PagedDecodeArgs<T> args{
      out.data(), d_q.data(), d_cache.of(0), static_cast<std::int32_t>(c.lengths.size()),
      c.queries,  heads,      window,        static_cast<float>(scale),
      split.view};
  const std::string what = std::string(kTypeName<T>) + ", group " + std::to_string(c.group) + ", " +
                           std::to_string(c.queries) + " queries, page " +
                           std::to_string(c.page_size) + ", window " + std::to_string(window) +
                           ", lengths " + text_of_lengths(c.lengths) + ", " +
                           std::to_string(plan.partial_count()) + " partial results";
  launch_paged_decode(args, head_dim, {});
  results.push_back({what, relative_error(out.download(), want), kAttentionTolerance<T>});
  if (c.queries > 1) return;  // once is enough
  args.out = plain.data();
  launch_paged_decode_plain(args, head_dim, {});
  results.push_back(
      {what + ": plain", relative_error(plain.download(), want), kAttentionTolerance<T>});
}

template <class T>
std::vector<CheckResult> check_paged_decode(int head_dim, bool windowed) {
  std::vector<CheckResult> results;
  for (const DecodeCase& c : decode_cases(head_dim, std::is_same_v<T, bf16>)) {
    const int window = c.queries == 1 ? 70 : 23;  // over a tile's edge, and within a tile
    check_decode_case<T>(c, head_dim, windowed ? window : 0, results);
  }
  return results;
}

// --- Registration ------------------------------------------------------------------------------

template <class T>
std::unique_ptr<Prepared> prepare_paged_decode(int head_dim, int window, const Case& c, int copies,
                                               std::uint64_t seed) {
  const int heads = static_cast<int>(c.key[0]);
  const int kv_heads = static_cast<int>(c.key[1]);
  const std::vector<std::int32_t> lengths = lengths_of(c, 2, c.key[3]);
  const PageLayout layout(lengths, 16, seed);
  const auto queries = lengths.size() * static_cast<std::size_t>(heads * head_dim);
  DeviceCache<T> cache(layout, static_cast<std::size_t>(kv_heads * head_dim), copies, true);
  cache.view.kv_heads = kv_heads;
  fill_normal(cache.k.data(), cache.k.size(), static_cast<std::uint32_t>(seed) + 1);
  fill_normal(cache.v.data(), cache.v.size(), static_cast<std::uint32_t>(seed) + 2);
  DeviceSplit split(
      plan_split_kv(lengths, 1, window, decode_units(heads, kv_heads, 1),
                    decode_blocks_per_multiprocessor(head_dim) * device_limits().multiprocessors,
                    kDecodeTile),
      heads, head_dim);
  DeviceBuffer<T> q = normal_buffer<T>(queries, seed + 3);
  DeviceBuffer<T> out(queries);
  const PagedDecodeArgs<T> args{
      out.data(), q.data(), cache.of(0), static_cast<std::int32_t>(lengths.size()),
      1,          heads,    window,      1.0f / std::sqrt(static_cast<float>(head_dim)),
      split.view};
  return prepared([=, cache = std::move(cache), split = std::move(split), q = std::move(q),
                   out = std::move(out)](int copy, Stream stream) mutable {
    PagedDecodeArgs<T> call = args;
    call.kv = cache.of(copy);
    launch_paged_decode(call, head_dim, stream);
  });
}

template <class T>
Work paged_decode_work(int head_dim, int window, const Case& c) {
  const double heads = static_cast<double>(c.key[0]);
  const double kv_heads = static_cast<double>(c.key[1]);
  const double element = sizeof(T);
  const std::vector<std::int32_t> lengths = lengths_of(c, 2, c.key[3]);
  double seen = 0, rows = 0;
  for (const std::int32_t length : lengths) {
    seen += window > 0 && window < length ? window : length;
    rows += (length + 15) / 16 * 16;
  }
  const double queries = 2.0 * static_cast<double>(lengths.size()) * heads * head_dim * element;
  const double kv_row = 2.0 * kv_heads * head_dim * element;
  return {4.0 * seen * heads * head_dim, seen * kv_row + queries, (rows + 16) * kv_row, queries};
}

template <class T>
KernelEntry paged_decode_entry(int head_dim, int window) {
  KernelEntry entry;
  entry.name = "paged_decode_attention";
  entry.op = "attn_decode";
  entry.impl = "own";
  entry.variant = {{"kv", kTypeName<T>},
                   {"head_dim", std::to_string(head_dim)},
                   {"window", std::to_string(window)}};
  entry.check = [=] { return check_paged_decode<T>(head_dim, window > 0); };
  entry.supports = [](const Case& c) { return c.key[1] > 0 && c.key[0] % c.key[1] == 0; };
  entry.work = [=](const Case& c) { return paged_decode_work<T>(head_dim, window, c); };
  entry.prepare = [=](const Case& c, int copies, std::uint64_t seed) {
    return prepare_paged_decode<T>(head_dim, window, c, copies, seed);
  };
  return entry;
}

inline void register_paged_decode_attention(std::vector<KernelEntry>& table) {
  for (const int head_dim : {64, 128}) {
    table.push_back(paged_decode_entry<bf16>(head_dim, 0));
    table.push_back(paged_decode_entry<f16>(head_dim, 0));
  }
  table.push_back(paged_decode_entry<bf16>(128, 4096));
}

}  // namespace headway::kernels
