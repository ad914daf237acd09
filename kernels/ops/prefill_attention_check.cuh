#pragma once

// Prefill attention: the check of every version against the double reference, and the registration.

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
#include "kernels/ops/paged_kv.h"
#include "kernels/ops/prefill_attention.cuh"
#include "kernels/registry.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

// --- Check -------------------------------------------------------------------------------------

struct PrefillCase {
  std::vector<std::int32_t> history, new_tokens;
  int kv_heads, group, page_size;
};

// What depends on the rows' packing alone is tried with one head_dim and one dtype.
inline std::vector<PrefillCase> prefill_cases(int head_dim, bool with_history, bool packing) {
  if (head_dim == 64 && packing) {
    // Few rows: the smaller block. Odd pages; a contiguous cache, which is one page.
    if (with_history) return {{{50, 0}, {9, 3}, 2, 1, 5}};
    return {{{0}, {50}, 1, 1, 50}, {{0, 0, 0, 0}, {40, 0, 1, 12}, 1, 3, 16}};  // groups of 1, 3
  }
  // Nothing new, one token, a chunk, a first chunk; 132 rows: two blocks, the second all but empty.
  if (with_history) return {{{9, 70, 20, 0}, {0, 1, 33, 5}, 1, 4, 16}};
  return {{{0, 0}, {20, 1}, 1, 8, 16}};
}

template <class T>
void check_prefill_case(const PrefillCase& c, int head_dim, int window,
                        std::vector<CheckResult>& results) {
  const int heads = c.kv_heads * c.group;
  std::vector<std::int32_t> lengths, q_start{0};
  std::vector<QueryToken> tokens;
  std::int32_t longest = 0;
  for (std::size_t s = 0; s < c.new_tokens.size(); ++s) {
    lengths.push_back(c.history[s] + c.new_tokens[s]);
    q_start.push_back(q_start.back() + c.new_tokens[s]);
    longest = std::max(longest, c.new_tokens[s]);
    for (std::int32_t t = 0; t < c.new_tokens[s]; ++t) tokens.push_back({s, c.history[s] + t});
  }
  const CacheData<T> cache(lengths, c.page_size, c.kv_heads, head_dim, true, 7);
  const std::vector<T> q = TestRandom(5).normals<T>(
      tokens.size() * static_cast<std::size_t>(heads * head_dim), 0.0, 2.0);
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
  const std::vector<double> want =
      attention_reference(cache, q, tokens, heads, head_dim, scale, window);

  DeviceCache<T> d_cache(cache);
  DeviceBuffer<T> d_q(q), out(q.size()), plain(q.size());
  DeviceBuffer<std::int32_t> d_q_start(q_start);
  PrefillArgs<T> args{out.data(),
                      d_q.data(),
                      d_cache.of(0),
                      d_q_start.data(),
                      static_cast<std::int32_t>(lengths.size()),
                      longest,
                      heads,
                      window,
                      static_cast<float>(scale)};
  const std::string what = std::string(kTypeName<T>) + ", group " + std::to_string(c.group) +
                           ", page " + std::to_string(c.page_size) + ", window " +
                           std::to_string(window) + ", new " + text_of_lengths(c.new_tokens) +
                           " after " + text_of_lengths(c.history);
  launch_prefill(args, head_dim, {});
  results.push_back({what, relative_error(out.download(), want), kAttentionTolerance<T>});
  if (c.group > 1) return;
  args.out = plain.data();
  launch_prefill_plain(args, head_dim, {});
  results.push_back(
      {what + ": plain", relative_error(plain.download(), want), kAttentionTolerance<T>});
}

template <class T>
std::vector<CheckResult> check_prefill(int head_dim, bool windowed, bool with_history) {
  std::vector<CheckResult> results;
  for (const PrefillCase& c : prefill_cases(head_dim, with_history, std::is_same_v<T, bf16>)) {
    check_prefill_case<T>(c, head_dim, windowed ? 17 : 0, results);
  }
  return results;
}

// --- Registration ------------------------------------------------------------------------------

// One call: `batch` sequences, each with as many new tokens behind as much history.
struct PrefillShape {
  std::int32_t heads, kv_heads, batch, past, new_tokens;
  std::int32_t length() const { return past + new_tokens; }
};

// attn_prefill has no axis for the history; attn_prefill_past has.
inline PrefillShape prefill_shape(const Case& c, bool with_history) {
  const auto at = [&](std::size_t i) { return static_cast<std::int32_t>(c.key[i]); };
  return {at(0), at(1), at(2), with_history ? at(3) : 0, with_history ? at(4) : at(3)};
}

template <class T>
std::unique_ptr<Prepared> prepare_prefill(const PrefillShape& s, int head_dim, int window,
                                          int copies, std::uint64_t seed) {
  const auto batch = static_cast<std::size_t>(s.batch);
  const PageLayout layout(std::vector<std::int32_t>(batch, s.length()), 16, seed);
  std::vector<std::int32_t> starts;
  for (std::int32_t i = 0; i <= s.batch; ++i) starts.push_back(i * s.new_tokens);
  const std::size_t queries =
      batch * static_cast<std::size_t>(s.new_tokens) * static_cast<std::size_t>(s.heads * head_dim);
  DeviceCache<T> cache(layout, static_cast<std::size_t>(s.kv_heads * head_dim), copies, true);
  cache.view.kv_heads = s.kv_heads;
  fill_normal(cache.k.data(), cache.k.size(), static_cast<std::uint32_t>(seed) + 1);
  fill_normal(cache.v.data(), cache.v.size(), static_cast<std::uint32_t>(seed) + 2);
  DeviceBuffer<T> q = normal_buffer<T>(queries, seed + 3);
  DeviceBuffer<T> out(queries);
  DeviceBuffer<std::int32_t> q_start(starts);
  const PrefillArgs<T> args{
      out.data(),     q.data(), cache.of(0),
      q_start.data(), s.batch,  s.new_tokens,
      s.heads,        window,   1.0f / std::sqrt(static_cast<float>(head_dim))};
  return prepared([=, cache = std::move(cache), q = std::move(q), out = std::move(out),
                   q_start = std::move(q_start)](int copy, Stream stream) mutable {
    PrefillArgs<T> call = args;
    call.kv = cache.of(copy);
    launch_prefill(call, head_dim, stream);
  });
}

template <class T>
Work prefill_work(const PrefillShape& s, int head_dim, int window) {
  double pairs = 0;  // (query, visible key)
  for (std::int32_t t = 0; t < s.new_tokens; ++t) {
    const Visible visible = visible_to(s.past + t, window);
    pairs += visible.high - visible.low;
  }
  const double element = sizeof(T);
  const double kv_row = 2.0 * s.kv_heads * head_dim * element;
  const double seen = s.length() - visible_to(s.past, window).low;
  const double queries = 2.0 * s.batch * s.new_tokens * s.heads * head_dim * element;
  const double rows = s.batch * ((s.length() + 15) / 16 * 16.0) + 16;
  return {4.0 * s.batch * pairs * s.heads * head_dim, s.batch * seen * kv_row + queries,
          rows * kv_row, queries};
}

template <class T>
KernelEntry prefill_entry(int head_dim, int window, bool with_history) {
  KernelEntry entry;
  entry.name = "prefill_attention";
  entry.op = with_history ? "attn_prefill_past" : "attn_prefill";
  entry.impl = "own";
  entry.variant = {{"kv", kTypeName<T>},
                   {"head_dim", std::to_string(head_dim)},
                   {"window", std::to_string(window)}};
  entry.check = [=] { return check_prefill<T>(head_dim, window > 0, with_history); };
  entry.supports = [](const Case& c) { return c.key[1] > 0 && c.key[0] % c.key[1] == 0; };
  entry.work = [=](const Case& c) {
    return prefill_work<T>(prefill_shape(c, with_history), head_dim, window);
  };
  entry.prepare = [=](const Case& c, int copies, std::uint64_t seed) {
    return prepare_prefill<T>(prefill_shape(c, with_history), head_dim, window, copies, seed);
  };
  return entry;
}

inline void register_prefill_attention(std::vector<KernelEntry>& table) {
  for (const bool with_history : {false, true}) {
    for (const int head_dim : {64, 128}) {
      table.push_back(prefill_entry<bf16>(head_dim, 0, with_history));
      table.push_back(prefill_entry<f16>(head_dim, 0, with_history));
    }
    table.push_back(prefill_entry<bf16>(128, 4096, with_history));
  }
}

}  // namespace headway::kernels
