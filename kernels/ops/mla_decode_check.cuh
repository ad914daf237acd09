#pragma once

// MLA decode: the check of every version against the double reference, and the registration.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/ops/attention_data.h"
#include "kernels/ops/attention_tile.cuh"
#include "kernels/ops/device_limits.h"
#include "kernels/ops/mla_decode.cuh"
#include "kernels/ops/paged_kv.h"
#include "kernels/ops/split_kv.cuh"
#include "kernels/registry.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

// --- Check -------------------------------------------------------------------------------------

struct MlaCase {
  std::vector<std::int32_t> lengths;
  int heads, queries, page_size, slots;
  int smem_per_block;  // what the launcher is told: decides the shape for 64 rows
};

// What depends on the rows' packing alone is tried with one dtype.
inline std::vector<MlaCase> mla_cases(bool packing) {
  std::vector<MlaCase> cases{{{0, 1, 140}, 16, 1, 16, 16, 227 * 1024}};  // 140: two pieces
  if (packing) {
    cases.push_back({{50, 2}, 12, 2, 64, 1, 227 * 1024});  // 24 rows, a drafted token
    cases.push_back({{70}, 40, 1, 3, 1, 227 * 1024});      // 40 of 64 rows
    cases.push_back({{40}, 66, 1, 16, 1, 163 * 1024});     // two blocks, half the tokens a stage
  }
  return cases;
}

template <class T>
void check_mla_case(const MlaCase& c, std::vector<CheckResult>& results) {
  const CacheData<T> cache(c.lengths, c.page_size, 1, kMlaRow, false, 9);
  std::vector<QueryToken> tokens;
  std::size_t empty = 0;  // such sequences come first; their outputs are zeros
  for (std::size_t s = 0; s < c.lengths.size(); ++s) {
    if (c.lengths[s] == 0) ++empty;
    for (int i = 0; i < c.queries && c.lengths[s] > 0; ++i) {
      tokens.push_back({s, c.lengths[s] - c.queries + i});
    }
  }
  const std::size_t rows = static_cast<std::size_t>(c.queries * c.heads);
  const std::vector<T> q = TestRandom(5).normals<T>(c.lengths.size() * rows * kMlaRow, 0.0, 1.0);
  const std::vector<T> asked(q.begin() + static_cast<std::ptrdiff_t>(empty * rows * kMlaRow),
                             q.end());
  const double scale = 2.0 / std::sqrt(static_cast<double>(kMlaRow));
  std::vector<double> want(empty * rows * kMlaLatent, 0.0);
  const std::vector<double> asked_want =
      attention_reference(cache, asked, tokens, c.heads, kMlaLatent, scale, 0);
  want.insert(want.end(), asked_want.begin(), asked_want.end());

  DeviceCache<T> d_cache(cache);
  DeviceBuffer<T> d_q(q), out(want.size()), plain(want.size());
  const SplitPlan plan =
      plan_split_kv(c.lengths, c.queries, 0, mla_units(c.heads, c.queries), c.slots, kMlaPlanTile);
  DeviceSplit split(plan, static_cast<int>(rows), kMlaLatent);
  MlaDecodeArgs<T> args{out.data(),
                        d_q.data(),
                        d_cache.of(0),
                        static_cast<std::int32_t>(c.lengths.size()),
                        c.queries,
                        c.heads,
                        static_cast<float>(scale),
                        split.view};
  const std::string what = std::string(kTypeName<T>) + ", " + std::to_string(c.heads) + " heads, " +
                           std::to_string(c.queries) + " queries, page " +
                           std::to_string(c.page_size) + ", lengths " + text_of_lengths(c.lengths) +
                           ", " + std::to_string(plan.partial_count()) + " partial results";
  launch_mla_decode(args, c.smem_per_block, {});
  results.push_back({what, relative_error(out.download(), want), kAttentionTolerance<T>});
  if (c.queries == 1) return;
  args.out = plain.data();
  launch_mla_decode_plain(args, {});
  results.push_back(
      {what + ": plain", relative_error(plain.download(), want), kAttentionTolerance<T>});
}

template <class T>
std::vector<CheckResult> check_mla_decode() {
  std::vector<CheckResult> results;
  const int most = device_limits().smem_per_block;
  for (MlaCase c : mla_cases(std::is_same_v<T, bf16>)) {
    c.smem_per_block = std::min(c.smem_per_block, most);
    check_mla_case<T>(c, results);
  }
  return results;
}

// --- Registration ------------------------------------------------------------------------------

template <class T>
std::unique_ptr<Prepared> prepare_mla_decode(const Case& c, int copies, std::uint64_t seed) {
  const int heads = static_cast<int>(c.key[0]);
  const std::vector<std::int32_t> lengths = lengths_of(c, 1, c.key[2]);
  const DeviceLimits limits = device_limits();
  const PageLayout layout(lengths, 64, seed);
  DeviceCache<T> cache(layout, kMlaRow, copies, false);
  fill_normal(cache.k.data(), cache.k.size(), static_cast<std::uint32_t>(seed) + 1);
  DeviceSplit split(
      plan_split_kv(lengths, 1, 0, mla_units(heads, 1),
                    mla_blocks_per_multiprocessor(heads, 1) * limits.multiprocessors, kMlaPlanTile),
      heads, kMlaLatent);
  const std::size_t rows = lengths.size() * static_cast<std::size_t>(heads);
  DeviceBuffer<T> q = normal_buffer<T>(rows * kMlaRow, seed + 3);
  DeviceBuffer<T> out(rows * kMlaLatent);
  const MlaDecodeArgs<T> args{out.data(),
                              q.data(),
                              cache.of(0),
                              static_cast<std::int32_t>(lengths.size()),
                              1,
                              heads,
                              1.0f / std::sqrt(192.0f),
                              split.view};
  return prepared([=, cache = std::move(cache), split = std::move(split), q = std::move(q),
                   out = std::move(out)](int copy, Stream stream) mutable {
    MlaDecodeArgs<T> call = args;
    call.kv = cache.of(copy);
    launch_mla_decode(call, limits.smem_per_block, stream);
  });
}

template <class T>
Work mla_decode_work(const Case& c) {
  const double heads = static_cast<double>(c.key[0]);
  double seen = 0, rows = 0;
  const std::vector<std::int32_t> lengths = lengths_of(c, 1, c.key[2]);
  for (const std::int32_t length : lengths) {
    seen += length;
    rows += (length + 63) / 64 * 64;
  }
  const double element = sizeof(T);
  const double queries =
      static_cast<double>(lengths.size()) * heads * (kMlaRow + kMlaLatent) * element;
  return {2.0 * seen * heads * (kMlaRow + kMlaLatent), seen * kMlaRow * element + queries,
          (rows + 64) * kMlaRow * element, queries};
}

template <class T>
KernelEntry mla_decode_entry() {
  KernelEntry entry;
  entry.name = "mla_decode";
  entry.op = "mla_decode";
  entry.impl = "own";
  entry.variant = {{"kv", kTypeName<T>},
                   {"latent", std::to_string(kMlaLatent)},
                   {"rope", std::to_string(kMlaRope)}};
  entry.check = check_mla_decode<T>;
  entry.work = mla_decode_work<T>;
  entry.prepare = prepare_mla_decode<T>;
  return entry;
}

inline void register_mla_decode(std::vector<KernelEntry>& table) {
  table.push_back(mla_decode_entry<bf16>());
  table.push_back(mla_decode_entry<f16>());
}

}  // namespace headway::kernels
