#pragma once

// cuDNN's attention over pages as rows of the kernel table: decode, and causal prefill with or
// without history. Each variant is checked against a double-precision attention before it is timed.
// Included by an nvcc build only. A plan is compiled for every case (about half a second of CPU),
// so a grid should have few.
//
// Bytes: keys and values of every token seen, once, and queries and results.
// FLOPs: 4 * heads * head_dim for every pair of a query and a token it sees.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/paged_kv.h"
#include "kernels/ops/prepared.h"
#include "kernels/providers/cudnn_sdpa.h"

namespace headway::kernels {

constexpr std::int64_t kCudnnPage = 16;

// A batch of sequences whose last new_tokens are the queries.
struct CudnnBatch {
  SdpaShape shape;
  std::vector<std::int32_t> lengths;  // KV tokens of each sequence, the new ones included
  std::vector<std::int32_t> page_table;
  std::int64_t max_pages = 0;

  CudnnBatch(SdpaShape s, std::vector<std::int32_t> kv_lengths, std::uint64_t seed)
      : shape(std::move(s)), lengths(std::move(kv_lengths)) {
    shape.batch = static_cast<std::int64_t>(lengths.size());
    shape.kv_tokens = *std::max_element(lengths.begin(), lengths.end());
    shape.page_tokens = kCudnnPage;
    max_pages = (shape.kv_tokens + kCudnnPage - 1) / kCudnnPage;
    shape.pages = shape.batch * max_pages;
    page_table = random_permutation(static_cast<int>(shape.pages), seed);
  }
  std::size_t q_elements() const {
    return static_cast<std::size_t>(shape.batch * shape.new_tokens * shape.heads * shape.head_dim);
  }
  std::size_t kv_elements() const {  // of the keys, or of the values
    return static_cast<std::size_t>(shape.pages * kCudnnPage * shape.kv_heads * shape.head_dim);
  }
  // Pairs of a query and a token that it sees.
  double pairs() const {
    double sum = 0;
    for (const std::int32_t length : lengths)
      for (std::int64_t i = 0; i < shape.new_tokens; ++i)
        sum += static_cast<double>(last(length, i) - first(length, i) + 1);
    return sum;
  }
  // The tokens that new token i sees, both ends included.
  std::int64_t last(std::int64_t length, std::int64_t i) const {
    return shape.causal ? length - shape.new_tokens + i : length - 1;
  }
  std::int64_t first(std::int64_t length, std::int64_t i) const {
    return shape.window > 0 ? std::max<std::int64_t>(0, last(length, i) - shape.window + 1) : 0;
  }
};

// Attention in double, query by query.
template <class T>
std::vector<double> attention_reference(const CudnnBatch& batch, const std::vector<T>& q,
                                        const std::vector<T>& k, const std::vector<T>& v) {
  const SdpaShape& s = batch.shape;
  const PagedKv<T> pages{nullptr,
                         nullptr,
                         batch.page_table.data(),
                         batch.lengths.data(),
                         static_cast<std::int32_t>(batch.max_pages),
                         static_cast<std::int32_t>(kCudnnPage),
                         static_cast<std::int32_t>(s.kv_heads)};
  std::vector<double> out(q.size(), 0.0);
  const auto at = [](const std::vector<T>& values, std::int64_t i) {
    return double{to_f(values[static_cast<std::size_t>(i)])};
  };
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t i = 0; i < s.new_tokens; ++i)
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const std::int64_t query = ((b * s.new_tokens + i) * s.heads + h) * s.head_dim;
        const std::int64_t length = batch.lengths[static_cast<std::size_t>(b)];
        std::vector<double> weights;
        double largest = -std::numeric_limits<double>::infinity(), sum = 0;
        const auto row = [&](std::int64_t t) {
          return (std::int64_t{
                      pages.row(static_cast<std::int32_t>(b), static_cast<std::int32_t>(t))} *
                      s.kv_heads +
                  h / (s.heads / s.kv_heads)) *
                 s.head_dim;
        };
        for (std::int64_t t = batch.first(length, i); t <= batch.last(length, i); ++t) {
          double score = 0;
          for (std::int64_t d = 0; d < s.head_dim; ++d)
            score += at(q, query + d) * at(k, row(t) + d);
          weights.push_back(score / std::sqrt(static_cast<double>(s.head_dim)));
          largest = std::max(largest, weights.back());
        }
        for (double& w : weights) sum += w = std::exp(w - largest);
        std::int64_t t = batch.first(length, i);
        for (const double w : weights) {
          for (std::int64_t d = 0; d < s.head_dim; ++d)
            out[static_cast<std::size_t>(query + d)] += w / sum * at(v, row(t) + d);
          ++t;
        }
      }
  return out;
}

// A plan and its buffers, `copies` sets of keys and values.
template <class T>
struct CudnnCall {
  CudnnCall(const CudnnBatch& batch, int copies, std::uint64_t seed)
      : q(normal_buffer<T>(batch.q_elements(), seed)),
        o(batch.q_elements()),
        k(normal_buffer<T>(batch.kv_elements() * static_cast<std::size_t>(copies), seed + 1)),
        v(normal_buffer<T>(batch.kv_elements() * static_cast<std::size_t>(copies), seed + 2)),
        q_lengths(std::vector<std::int32_t>(batch.lengths.size(),
                                            static_cast<std::int32_t>(batch.shape.new_tokens))),
        kv_lengths(batch.lengths),
        page_table(batch.page_table),
        attention(batch.shape) {
    attention.build_plan();
    workspace = DeviceBuffer<std::uint8_t>(static_cast<std::size_t>(attention.workspace_bytes()));
    for (std::size_t c = 0; c < static_cast<std::size_t>(copies); ++c)
      attention.bind({q.data(), k.data() + c * batch.kv_elements(),
                      v.data() + c * batch.kv_elements(), o.data(), q_lengths.data(),
                      kv_lengths.data(), page_table.data(), workspace.data()});
  }
  DeviceBuffer<T> q, o, k, v;
  DeviceBuffer<std::int32_t> q_lengths, kv_lengths, page_table;
  DeviceBuffer<std::uint8_t> workspace;
  CudnnSdpa attention;
};

template <class T>
CheckResult check_cudnn(const CudnnBatch& batch) {
  const SdpaShape& s = batch.shape;
  const std::string what = std::string(kTypeName<T>) + ", head_dim " + std::to_string(s.head_dim) +
                           ", " + std::to_string(s.batch) + " sequences of up to " +
                           std::to_string(s.kv_tokens) + ", " + std::to_string(s.new_tokens) +
                           " new, window " + std::to_string(s.window);
  const double tolerance =
      2 * kRoundingTolerance<T>;  // weights are rounded to T before they meet values
  try {
    CudnnCall<T> call(batch, 1, 31);
    call.attention.run(0, nullptr);
    return {what,
            relative_error(call.o.download(),
                           attention_reference(batch, call.q.download(), call.k.download(),
                                               call.v.download())),
            tolerance};
  } catch (const std::exception& error) {
    return {what + ": " + error.what(), std::numeric_limits<double>::infinity(), tolerance};
  }
}

inline CudnnBatch cudnn_case(const std::string& op, const SdpaShape& base, const Case& c) {
  SdpaShape s = base;
  const auto& key =
      c.key;  // attn_decode: ..., batch, kv_tokens; attn_prefill: ..., batch, [past,] new
  s.heads = key[0];
  s.kv_heads = key[1];
  s.new_tokens = op == "attn_decode" ? 1 : key.back();
  const std::int64_t total = op == "attn_prefill_past" ? key[3] + key[4] : key[3];
  std::vector<std::int32_t> lengths(c.lengths.begin(), c.lengths.end());
  if (lengths.empty())
    lengths.assign(static_cast<std::size_t>(key[2]), static_cast<std::int32_t>(total));
  return CudnnBatch(s, lengths, 41);
}

template <class T>
KernelEntry cudnn_entry(const std::string& op, std::int64_t head_dim, std::int64_t window) {
  SdpaShape base;
  base.dtype = kTypeName<T>;
  base.head_dim = head_dim;
  base.causal = op != "attn_decode";
  base.window = window;
  KernelEntry entry;
  entry.name = "cudnn_sdpa";
  entry.op = op;
  entry.impl = "cudnn";
  entry.variant = {{"kv", kTypeName<T>},
                   {"head_dim", std::to_string(head_dim)},
                   {"window", std::to_string(window)}};
  entry.check = [base] {
    const auto one = [&](std::int64_t new_tokens, std::vector<std::int32_t> lengths) {
      SdpaShape s = base;
      s.heads = 8;
      s.kv_heads = 2;
      s.new_tokens = new_tokens;
      if (s.window > 0) s.window = 32;
      return check_cudnn<T>(CudnnBatch(s, std::move(lengths), 7));
    };
    if (!base.causal) return std::vector<CheckResult>{one(1, {130, 1, 17}), one(1, {1})};
    return std::vector<CheckResult>{one(70, {70, 70}), one(20, {100, 33})};
  };
  entry.supports = [](const Case& c) { return c.key[0] % c.key[1] == 0; };
  entry.work = [op, base](const Case& c) {
    const CudnnBatch batch = cudnn_case(op, base, c);
    const SdpaShape& s = batch.shape;
    double tokens = 0;
    for (const std::int32_t length : batch.lengths) tokens += length;
    const double kv = 2 * tokens * static_cast<double>(s.kv_heads * s.head_dim) * sizeof(T);
    const double allocated = 2.0 * static_cast<double>(batch.kv_elements()) * sizeof(T);
    const double warm = 2.0 * static_cast<double>(batch.q_elements()) * sizeof(T);
    return Work{4 * batch.pairs() * static_cast<double>(s.heads * s.head_dim), kv + warm, allocated,
                warm};
  };
  entry.prepare = [op, base](const Case& c, int copies, std::uint64_t seed) {
    auto call = std::make_shared<CudnnCall<T>>(cudnn_case(op, base, c), copies, seed);
    return prepared([call](int copy, Stream stream) { call->attention.run(copy, stream.handle); });
  };
  return entry;
}

inline void register_cudnn_sdpa(std::vector<KernelEntry>& table) {
  if (!CudnnSdpa::why_not().empty()) return;
  for (const char* op : {"attn_decode", "attn_prefill", "attn_prefill_past"}) {
    table.push_back(cudnn_entry<bf16>(op, 128, 0));
    table.push_back(cudnn_entry<f16>(op, 128, 0));
    table.push_back(cudnn_entry<bf16>(op, 64, 0));
  }
  table.push_back(cudnn_entry<bf16>("attn_prefill", 128, 4096));
}

}  // namespace headway::kernels
