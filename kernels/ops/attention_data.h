#pragma once

// What the checks and the timings of the attention kernels share: a paged cache with permuted
// pages, the double-precision reference, and what a plan needs on the device.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/attention_tile.cuh"
#include "kernels/ops/paged_kv.h"
#include "kernels/ops/prepared.h"
#include "kernels/ops/split_kv.cuh"
#include "kernels/ops/test_data.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

// Where the tokens of a batch lie: each sequence's pages are scattered over the pool, which has one
// page more than is used; entries past a length point there.
struct PageLayout {
  PageLayout(std::vector<std::int32_t> lengths_of, int size, std::uint64_t seed)
      : lengths(std::move(lengths_of)), page_size(size) {
    for (const std::int32_t length : lengths) max_pages = std::max(max_pages, pages_of(length));
    std::int32_t used = 0;
    for (const std::int32_t length : lengths) used += pages_of(length);
    pages = used + 1;
    const std::vector<std::int32_t> order = random_permutation(used, seed);
    table.assign(lengths.size() * static_cast<std::size_t>(max_pages), used);
    std::size_t next = 0;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (std::int32_t p = 0; p < pages_of(lengths[s]); ++p) {
        table[s * static_cast<std::size_t>(max_pages) + static_cast<std::size_t>(p)] =
            order[next++];
      }
    }
  }
  std::int32_t pages_of(std::int32_t tokens) const { return (tokens + page_size - 1) / page_size; }
  std::size_t row(std::size_t sequence, std::int32_t token) const {
    const std::size_t entry = sequence * static_cast<std::size_t>(max_pages) +
                              static_cast<std::size_t>(token / page_size);
    return static_cast<std::size_t>(table[entry]) * static_cast<std::size_t>(page_size) +
           static_cast<std::size_t>(token % page_size);
  }
  std::size_t rows() const {
    return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_size);
  }
  std::int64_t tokens() const {
    return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  }

  std::vector<std::int32_t> lengths, table;  // table: [sequences][max_pages]
  std::int32_t page_size = 1, max_pages = 1, pages = 1;
};

// A cache on the host: k and, where there are values, v, [rows][kv_heads][width]. Rows that hold no
// token are NaN.
template <class T>
struct CacheData {
  CacheData(std::vector<std::int32_t> lengths, int page_size, int heads, int elements, bool values,
            std::uint64_t seed)
      : layout(std::move(lengths), page_size, seed), kv_heads(heads), width(elements) {
    TestRandom random(seed);
    const std::size_t row_elements =
        static_cast<std::size_t>(kv_heads) * static_cast<std::size_t>(width);
    const T nan = from_f<T>(std::numeric_limits<float>::quiet_NaN());
    k.assign(layout.rows() * row_elements, nan);
    if (values) v = k;
    for (std::size_t s = 0; s < layout.lengths.size(); ++s) {
      for (std::int32_t t = 0; t < layout.lengths[s]; ++t) {
        const std::size_t first = layout.row(s, t) * row_elements;
        for (std::size_t i = first; i < first + row_elements; ++i) {
          k[i] = from_f<T>(static_cast<float>(random.normal()));
          if (values) v[i] = from_f<T>(static_cast<float>(random.normal()));
        }
      }
    }
  }
  PageLayout layout;
  int kv_heads, width;
  std::vector<T> k, v;
};

// One query token: whose it is, and which token of its sequence.
struct QueryToken {
  std::size_t sequence;
  std::int32_t position;
};

// The rule in double precision. q: [tokens][heads][cache width]; result:
// [tokens][heads][out_width]. Values are v's, or where there are none (a latent cache) the first
// out_width columns of k.
template <class T>
std::vector<double> attention_reference(const CacheData<T>& cache, const std::vector<T>& q,
                                        const std::vector<QueryToken>& tokens, int heads,
                                        int out_width, double scale, int window) {
  const auto width = static_cast<std::size_t>(cache.width);
  const auto out_columns = static_cast<std::size_t>(out_width);
  const int group = heads / cache.kv_heads;
  std::vector<double> out;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    for (int h = 0; h < heads; ++h) {
      const std::size_t query =
          (t * static_cast<std::size_t>(heads) + static_cast<std::size_t>(h)) * width;
      const Visible visible = visible_to(tokens[t].position, window);
      std::vector<double> scores;
      std::vector<std::size_t> rows;
      for (std::int32_t j = visible.low; j < visible.high; ++j) {
        rows.push_back(
            (cache.layout.row(tokens[t].sequence, j) * static_cast<std::size_t>(cache.kv_heads) +
             static_cast<std::size_t>(h / group)) *
            width);
        double score = 0;
        for (std::size_t i = 0; i < width; ++i) {
          score += double{to_f(q[query + i])} * to_f(cache.k[rows.back() + i]);
        }
        scores.push_back(score * scale);
      }
      const double largest = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (double& score : scores) sum += score = std::exp(score - largest);
      const std::vector<T>& values = cache.v.empty() ? cache.k : cache.v;
      for (std::size_t c = 0; c < out_columns; ++c) {
        double total = 0;
        for (std::size_t j = 0; j < rows.size(); ++j)
          total += scores[j] * to_f(values[rows[j] + c]);
        out.push_back(total / sum);
      }
    }
  }
  return out;
}

// Pages, table and lengths on the device; `copies` sets of pages behind one table.
template <class T>
struct DeviceCache {
  DeviceCache(const PageLayout& layout, std::size_t kv_row_elements, int copies, bool values)
      : set(layout.rows() * kv_row_elements),
        k(set * static_cast<std::size_t>(copies)),
        v(values ? k.size() : 0),
        table(layout.table),
        lengths(layout.lengths) {
    view.page_table = table.data();
    view.lengths = lengths.data();
    view.max_pages = layout.max_pages;
    view.page_size = layout.page_size;
  }
  explicit DeviceCache(const CacheData<T>& host)
      : DeviceCache(host.layout,
                    static_cast<std::size_t>(host.kv_heads) * static_cast<std::size_t>(host.width),
                    1, !host.v.empty()) {
    view.kv_heads = host.kv_heads;
    k.upload(host.k);
    v.upload(host.v);
  }
  PagedKv<T> of(int copy) {
    PagedKv<T> result = view;
    result.k = k.data() + set * static_cast<std::size_t>(copy);
    result.v = v.data() == nullptr ? nullptr : v.data() + set * static_cast<std::size_t>(copy);
    return result;
  }

  std::size_t set;  // elements of one copy's k
  DeviceBuffer<T> k, v;
  DeviceBuffer<std::int32_t> table, lengths;
  PagedKv<T> view;
};

// A plan on the device, and room for its partial results.
struct DeviceSplit {
  DeviceSplit(const SplitPlan& plan, int rows, int dim)
      : items(plan.items), first_partial(plan.first_partial) {
    const std::size_t lines =
        static_cast<std::size_t>(plan.partial_count()) * static_cast<std::size_t>(rows);
    out = DeviceBuffer<float>(lines * static_cast<std::size_t>(dim));
    lse = DeviceBuffer<float>(lines);
    view = {items.data(),
            first_partial.data(),
            out.data(),
            lse.data(),
            static_cast<std::int32_t>(plan.items.size()),
            plan.partial_count()};
  }
  DeviceBuffer<SplitItem> items;
  DeviceBuffer<std::int32_t> first_partial;
  DeviceBuffer<float> out, lse;
  SplitKv view;
};

// Against the largest output of the batch. Both roundings of T count: of the weights and of the
// result.
template <class T>
inline constexpr double kAttentionTolerance = 1.5 * kRoundingTolerance<T>;

inline std::string text_of_lengths(const std::vector<std::int32_t>& values) {
  std::string text;
  for (const std::int32_t value : values) text += (text.empty() ? "" : " ") + std::to_string(value);
  return text;
}

// Lengths of a case: its own, or all as its key says.
inline std::vector<std::int32_t> lengths_of(const Case& c, std::size_t batch_axis,
                                            std::int64_t kv_tokens) {
  if (c.lengths.empty()) {
    return std::vector<std::int32_t>(static_cast<std::size_t>(c.key[batch_axis]),
                                     static_cast<std::int32_t>(kv_tokens));
  }
  return {c.lengths.begin(), c.lengths.end()};
}

}  // namespace headway::kernels
