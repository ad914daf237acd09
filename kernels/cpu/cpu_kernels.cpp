// What the CPU backend offers the profiler: each operator's check, its work, and a call on rotated
// buffers. The products are the engine's own loops; OpenBLAS stands beside them for comparison.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/cpu/checks.h"
#include "kernels/cpu/cpu_ops.h"
#include "kernels/cpu/openblas.h"
#include "kernels/cpu/random_data.h"
#include "kernels/cpu/sampling.h"
#include "kernels/registry.h"

namespace headway::kernels {

using namespace cpu;

namespace {

constexpr double kFloat = sizeof(float), kHalf = sizeof(Bf16);
constexpr std::int32_t kPage = 16;

double number(std::int64_t value) { return static_cast<double>(value); }
std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

std::vector<float> activations(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(size(count));
  NormalValues(seed).fill(values);
  return values;
}

// A launch that is a lambda over buffers it owns.
template <typename Call>
class Ready final : public Prepared {
 public:
  explicit Ready(Call call) : call_(std::move(call)) {}
  void launch(int copy, Stream) override { call_(copy); }

 private:
  Call call_;
};
template <typename Call>
std::unique_ptr<Prepared> ready(Call call) {
  return std::make_unique<Ready<Call>>(std::move(call));
}

// `copies` sets of weights of equal content in memory of their own: only where they lie matters.
std::vector<PackedWeights> weight_sets(std::int64_t n, std::int64_t k, int copies,
                                       std::uint64_t seed) {
  PackedWeights one{n, k, std::vector<Bf16>(size((n + kPanel - 1) / kPanel * kPanel * k))};
  NormalValues(seed, 0.05F).fill(one.panels);
  return std::vector<PackedWeights>(size(copies), one);
}

KernelEntry gemm_entry(bool openblas) {
  KernelEntry e;
  e.name = openblas ? "gemm_openblas" : "gemm";
  e.op = "gemm";
  e.impl = openblas ? "openblas" : "own";
  e.variant = {{"weights", "bf16"}, {"activations", "fp32"}};
  e.check = [openblas] { return openblas ? check_openblas() : check_matmul(cpu_ops()); };
  if (openblas) e.supports = [](const Case& c) { return c.key[2] > 16; };
  e.work = [](const Case& c) {
    const double n = number(c.key[0]), k = number(c.key[1]), m = number(c.key[2]);
    const double moved = (m * k + m * n) * kFloat;
    return Work{2 * m * n * k, n * k * kHalf + moved, n * k * kHalf, moved};
  };
  e.prepare = [openblas](const Case& c, int copies, std::uint64_t seed) {
    const std::int64_t n = c.key[0], k = c.key[1], m = c.key[2];
    return ready([=, sets = weight_sets(n, k, copies, seed), x = activations(m * k, seed + 1),
                  y = std::vector<float>(size(m * n)),
                  scratch = std::vector<float>()](int copy) mutable {
      const PackedWeights& w = sets[size(copy)];
      if (openblas) {
        openblas_matmul(x.data(), k, w, y.data(), n, m, scratch);
      } else {
        cpu_ops().matmul(x.data(), k, w, y.data(), n, m);
      }
    });
  };
  return e;
}

// Sequences over pages in a shuffled order, `copies` times over.
struct PagedBatch {
  KvLayout layout;
  std::vector<Bf16> keys, values;
  std::vector<std::int32_t> pages;
  std::vector<std::vector<AttentionRows>> rows;  // by copy
  std::vector<float> q, out, scratch;
  AttentionShape shape;

  PagedBatch(std::int64_t heads, std::int64_t kv_heads, std::int32_t head_dim,
             const std::vector<std::pair<std::int64_t, std::int64_t>>& queries_and_context,
             int copies, std::uint64_t seed) {
    layout = {static_cast<std::int32_t>(kv_heads), head_dim, kPage};
    std::int64_t per_copy = 0, queries = 0, longest = 0;
    for (const auto& [count, context] : queries_and_context) {
      per_copy += (count + context + kPage - 1) / kPage;
      queries += count;
      longest = std::max(longest, count + context);
    }
    pages.resize(size(per_copy * copies));
    std::iota(pages.begin(), pages.end(), 0);
    std::uint64_t state = seed;
    for (std::size_t i = pages.size(); i > 1; --i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(pages[i - 1], pages[(state >> 33) % i]);
    }
    keys.resize(layout.elements(std::ssize(pages)));
    NormalValues(seed + 1).fill(keys);
    values = keys;
    const std::int32_t* next = pages.data();
    for (int copy = 0; copy < copies; ++copy) {
      std::int32_t first = 0;
      std::vector<AttentionRows>& batch = rows.emplace_back();
      for (const auto& [count, context] : queries_and_context) {
        const auto n = static_cast<std::int32_t>(count);
        batch.push_back({first, n, static_cast<std::int32_t>(context), next});
        first += n;
        next += (count + context + kPage - 1) / kPage;
      }
    }
    const std::int64_t width = heads * head_dim;
    q = activations(queries * width, seed + 2);
    out.resize(q.size());
    scratch.resize(attention_scratch(longest));
    shape = {static_cast<std::int32_t>(heads), width, width,
             1 / std::sqrt(static_cast<float>(head_dim))};
  }

  void run(int copy) {
    cpu_ops().attention(q.data(), {layout, keys.data(), values.data()}, rows[size(copy)], shape,
                        out.data(), scratch.data());
  }
};

Work attention_work(std::int64_t heads, std::int64_t kv_heads, double dim, double queries,
                    double kv_tokens, double pairs) {
  const double kv = 2 * kHalf * number(kv_heads) * dim * kv_tokens;
  const double moved = 2 * kFloat * number(heads) * dim * queries;
  return {4 * number(heads) * dim * pairs, kv + moved, kv, moved};
}

Variant attention_variant(std::int32_t head_dim) {
  return {{"kv", "bf16"}, {"head_dim", std::to_string(head_dim)}, {"window", "0"}};
}

// (queries, context) of each sequence of a decode batch.
std::vector<std::pair<std::int64_t, std::int64_t>> decode_batch(const Case& c) {
  std::vector<std::pair<std::int64_t, std::int64_t>> batch;
  if (c.lengths.empty()) batch.assign(size(c.key[2]), {1, c.key[3] - 1});
  for (const std::int64_t length : c.lengths) batch.push_back({1, length - 1});
  return batch;
}

KernelEntry decode_entry(std::int32_t head_dim) {
  KernelEntry e{
      "attention_decode", "attn_decode", "own", attention_variant(head_dim), {}, {}, {}, {}};
  e.check = [head_dim] { return check_attention(cpu_ops(), head_dim); };
  e.work = [head_dim](const Case& c) {
    double tokens = number(c.key[2]) * number(c.key[3]);
    if (!c.lengths.empty()) {
      tokens = number(std::accumulate(c.lengths.begin(), c.lengths.end(), std::int64_t{0}));
    }
    return attention_work(c.key[0], c.key[1], head_dim, number(c.key[2]), tokens, tokens);
  };
  e.prepare = [head_dim](const Case& c, int copies, std::uint64_t seed) {
    auto batch =
        std::make_shared<PagedBatch>(c.key[0], c.key[1], head_dim, decode_batch(c), copies, seed);
    return ready([batch](int copy) { batch->run(copy); });
  };
  return e;
}

// Axes heads, kv_heads, batch [, past_tokens], new_tokens.
KernelEntry prefill_entry(std::int32_t head_dim, bool past) {
  KernelEntry e{"attention_prefill",
                past ? "attn_prefill_past" : "attn_prefill",
                "own",
                attention_variant(head_dim),
                {},
                {},
                {},
                {}};
  e.check = [head_dim] { return check_attention(cpu_ops(), head_dim); };
  e.work = [head_dim, past](const Case& c) {
    const double batch = number(c.key[2]), before = past ? number(c.key[3]) : 0;
    const double fresh = number(c.key.back());
    return attention_work(c.key[0], c.key[1], head_dim, batch * fresh, batch * (before + fresh),
                          batch * fresh * (before + (fresh + 1) / 2));
  };
  e.prepare = [head_dim, past](const Case& c, int copies, std::uint64_t seed) {
    const std::vector<std::pair<std::int64_t, std::int64_t>> all(
        size(c.key[2]), {c.key.back(), past ? c.key[3] : 0});
    auto batch = std::make_shared<PagedBatch>(c.key[0], c.key[1], head_dim, all, copies, seed);
    return ready([batch](int copy) { batch->run(copy); });
  };
  return e;
}

KernelEntry rmsnorm_entry(bool residual) {
  KernelEntry e{
      "rmsnorm", "rmsnorm", "own", {{"dtype", "fp32"}, {"residual", residual ? "yes" : "no"}},
      {},        {},        {},    {}};
  e.check = [residual] { return check_rmsnorm(cpu_ops(), residual); };
  e.work = [residual](const Case& c) {
    const double elements = number(c.key[0]) * number(c.key[1]);
    const double moved = elements * kFloat * (residual ? 4 : 2);
    return Work{elements * 4, moved + number(c.key[0]) * kHalf, number(c.key[0]) * kHalf, moved};
  };
  e.prepare = [residual](const Case& c, int copies, std::uint64_t seed) {
    const std::int64_t width = c.key[0], rows = c.key[1];
    std::vector<Bf16> weights(size(width * copies));
    NormalValues(seed).fill(weights);
    return ready([=, w = std::move(weights), x = activations(width * rows, seed),
                  stream = activations(residual ? width * rows : 0, seed + 1),
                  out = std::vector<float>(size(width * rows))](int copy) mutable {
      cpu_ops().rmsnorm(x.data(), residual ? stream.data() : nullptr, w.data() + copy * width,
                        out.data(), rows, width, 1e-5F);
    });
  };
  return e;
}

KernelEntry rope_entry(std::int32_t head_dim) {
  KernelEntry e{"rope", "rope", "own", {{"dtype", "fp32"}, {"head_dim", std::to_string(head_dim)}},
                {},     {},     {},    {}};
  e.check = [] { return check_rope(cpu_ops()); };
  e.work = [head_dim](const Case& c) {
    const double elements = number(c.key[0] + c.key[1]) * head_dim * number(c.key[2]);
    const double table = number(c.key[2]) * head_dim * kFloat;
    return Work{elements * 3, elements * 2 * kFloat + table, 0, elements * kFloat + table};
  };
  e.prepare = [head_dim](const Case& c, int, std::uint64_t seed) {
    const std::int64_t heads = c.key[0] + c.key[1], tokens = c.key[2];
    std::vector<std::int32_t> positions(size(tokens));
    std::iota(positions.begin(), positions.end(), 0);
    return ready([=, table = rope_table(static_cast<std::int32_t>(tokens), head_dim),
                  x = activations(heads * head_dim * tokens, seed)](int) mutable {
      cpu_ops().rope(x.data(), heads * head_dim, positions.data(), tokens,
                     static_cast<std::int32_t>(heads), head_dim, table.data());
    });
  };
  return e;
}

KernelEntry silu_entry() {
  KernelEntry e{"silu_mul", "silu_mul", "own", {{"dtype", "fp32"}}, {}, {}, {}, {}};
  e.check = [] { return check_silu_mul(cpu_ops()); };
  e.work = [](const Case& c) {
    const double elements = number(c.key[0]) * number(c.key[1]);
    return Work{elements * 20, elements * 3 * kFloat, 0, elements * 3 * kFloat};
  };
  e.prepare = [](const Case& c, int, std::uint64_t seed) {
    const std::int64_t width = c.key[0], rows = c.key[1];
    return ready([=, x = activations(2 * width * rows, seed),
                  y = std::vector<float>(size(width * rows))](int) mutable {
      cpu_ops().silu_mul(x.data(), y.data(), rows, width);
    });
  };
  return e;
}

KernelEntry kv_write_entry(std::int32_t head_dim) {
  KernelEntry e{
      "kv_write", "kv_write",
      "own",      {{"kv", "bf16"}, {"head_dim", std::to_string(head_dim)}, {"page", "16"}},
      {},         {},
      {},         {}};
  e.check = [] { return check_kv_write(cpu_ops()); };
  e.work = [head_dim](const Case& c) {
    const double elements = 2 * number(c.key[0]) * number(c.key[1]) * head_dim;
    // Each token has a page of its own here, so that much is allocated; of a page's keys all lines
    // are touched (they lie [head_dim][16]), of its values one row.
    return Work{0, elements * (kFloat + kHalf), elements * kHalf * kPage, elements * kFloat};
  };
  // Every token goes to another sequence's page, as in a decode step.
  e.prepare = [head_dim](const Case& c, int copies, std::uint64_t seed) {
    const KvLayout layout{static_cast<std::int32_t>(c.key[0]), head_dim, kPage};
    const std::int64_t tokens = c.key[1], row = c.key[0] * head_dim;
    std::vector<std::int64_t> slots(size(tokens * copies));
    for (std::size_t i = 0; i < slots.size(); ++i)
      slots[i] = static_cast<std::int64_t>(i) * kPage + i % kPage;
    return ready([=, keys = std::vector<Bf16>(layout.elements(tokens * copies)),
                  values = std::vector<Bf16>(layout.elements(tokens * copies)),
                  kv = activations(2 * row * tokens, seed)](int copy) mutable {
      cpu_ops().kv_write(kv.data(), kv.data() + row, 2 * row, slots.data() + copy * tokens, tokens,
                         {layout, keys.data(), values.data()});
    });
  };
  return e;
}

KernelEntry embedding_entry() {
  KernelEntry e{"embedding", "embedding", "own", {{"dtype", "bf16"}}, {}, {}, {}, {}};
  e.check = [] { return check_embed(cpu_ops()); };
  e.work = [](const Case& c) {
    const double elements = number(c.key[0]) * number(c.key[1]);
    return Work{0, elements * (kHalf + kFloat), elements * kHalf, elements * kFloat};
  };
  e.prepare = [](const Case& c, int copies, std::uint64_t seed) {
    const std::int64_t width = c.key[0], tokens = c.key[1], rows = tokens * copies;
    std::vector<Bf16> table(size(rows * width));
    NormalValues(seed).fill(table);
    std::vector<std::int32_t> ids(size(rows));
    for (std::int64_t i = 0; i < rows; ++i)
      ids[size(i)] = static_cast<std::int32_t>(i * 7919 % rows);
    return ready([=, table = std::move(table), ids = std::move(ids),
                  out = std::vector<float>(size(tokens * width))](int copy) mutable {
      cpu_ops().embed(table.data(), ids.data() + copy * tokens, tokens, width, out.data());
    });
  };
  return e;
}

KernelEntry sampling_entry(bool greedy) {
  KernelEntry e{"sampling", "sampling",
                "own",      {{"dtype", "fp32"}, {"method", greedy ? "greedy" : "top_k_top_p"}},
                {},         {},
                {},         {}};
  e.check = [greedy] { return greedy ? check_argmax(cpu_ops()) : check_sampling(); };
  e.work = [](const Case& c) {
    const double logits = number(c.key[0]) * number(c.key[1]);
    return Work{logits, logits * kFloat, 0, logits * kFloat};
  };
  e.prepare = [greedy](const Case& c, int, std::uint64_t seed) {
    const std::int64_t vocab = c.key[0], rows = c.key[1];
    return ready([=, logits = activations(vocab * rows, seed),
                  out = std::vector<std::int32_t>(size(rows)),
                  buffer = std::vector<RankedToken>()](int) mutable {
      if (greedy) return cpu_ops().argmax(logits.data(), rows, vocab, out.data());
      for (std::int64_t row = 0; row < rows; ++row) {
        out[size(row)] =
            sample_top_k_top_p(std::span(logits).subspan(size(row * vocab), size(vocab)),
                               {0.8F, 50, 0.95F}, 0.5, buffer);
      }
    });
  };
  return e;
}

}  // namespace

std::vector<KernelEntry> cpu_kernels() {
  std::vector<KernelEntry> table;
  table.push_back(gemm_entry(false));
  if (!openblas_core().empty()) table.push_back(gemm_entry(true));
  for (const std::int32_t head_dim : {48, 64, 128}) {
    table.push_back(prefill_entry(head_dim, false));
    table.push_back(prefill_entry(head_dim, true));
    table.push_back(decode_entry(head_dim));
    table.push_back(rope_entry(head_dim));
    table.push_back(kv_write_entry(head_dim));
  }
  table.push_back(rmsnorm_entry(true));
  table.push_back(rmsnorm_entry(false));
  table.push_back(silu_entry());
  table.push_back(embedding_entry());
  table.push_back(sampling_entry(true));
  table.push_back(sampling_entry(false));
  return table;
}

}  // namespace headway::kernels
