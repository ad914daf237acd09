#include "kernels/validate/points.h"

#include <algorithm>
#include <string>

#include "sim/core/errors.h"

namespace headway::kernels {
namespace {

using Values = std::vector<std::int64_t>;

// Those of the list below `last`, and `last`.
Values up_to(std::int64_t last, const Values& list) {
  Values values;
  for (const std::int64_t v : list) {
    if (v < last) values.push_back(v);
  }
  values.push_back(last);
  return values;
}

// Few tokens are the common case of a small engine, and the register blocks show in them.
const Values kFine{1,  2,  3,  4,  5,  6,   7,   8,   10,  12,  14,  16,   20,   24,
                   32, 40, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096};
const Values kCoarse{1, 4, 16, 64, 256, 1024, 4096};
const Values kBatches{1, 2, 4, 8, 16, 32, 64, 128, 256};
const Values kLengths{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
const Values kPrompts{1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};

class Planner {
 public:
  Planner(const std::vector<KernelEntry>& entries, const Scenario& s)
      : entries_(entries),
        s_(s),
        ops_(rank_operators(s.model, s.precision, 1, 1)),
        drafts_(s.speculation.on() ? s.speculation.num_speculative_tokens : 0) {
    seats_ = s.engine.max_num_seqs;
    rows_ = std::max<std::int64_t>(s.engine.max_num_batched_tokens, seats_ * (1 + drafts_));
    longest_ = s.engine.max_model_len;
  }

  std::vector<Point> points() {
    const RankLayer& layer = ops_.first();
    const std::string dim = std::to_string(layer.head_dim());
    const Values rows = up_to(rows_, kCoarse);
    for (const GemmSite& site : layer.gemms) {
      for (const std::int64_t m : up_to(rows_, kFine)) add("gemm", {}, {site.n, site.k, m});
    }
    for (const std::int64_t m : up_to(seats_ * (1 + drafts_), kFine)) {
      add("gemm", {}, {ops_.lm_head.n, ops_.lm_head.k, m});
    }
    for (const std::int64_t n : up_to(seats_, kBatches)) {
      for (const std::int64_t kv : up_to(longest_, kLengths)) {
        const bool fits = n * kv <= capacity();
        if (fits || n == 1)
          add("attn_decode", {{"head_dim", dim}}, {layer.heads(), layer.kv_heads(), n, kv});
      }
    }
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}}) {
      for (const std::int64_t c : up_to(n == 1 ? longest_ : rows_ / n, kPrompts)) {
        if (c == 0) continue;
        add("attn_prefill", {{"head_dim", dim}}, {layer.heads(), layer.kv_heads(), n, c});
      }
    }
    for (const std::int64_t m : rows) {
      add("rmsnorm", {{"residual", "yes"}}, {ops_.hidden, m});
      add("rope", {{"head_dim", dim}}, {layer.heads(), layer.kv_heads(), m});
      add("silu_mul", {}, {layer.ffn(), m});
      add("kv_write", {{"head_dim", dim}}, {layer.kv_heads(), m});
      add_if_there("embedding", {}, {ops_.hidden, m});
    }
    for (const std::int64_t n : up_to(seats_ * (1 + drafts_), kBatches)) {
      add_if_there("sampling", {{"method", "greedy"}}, {ops_.vocab, n});
    }
    return std::move(points_);
  }

 private:
  std::int64_t capacity() const {
    const std::int64_t blocks = s_.engine.num_gpu_blocks_override;
    return blocks > 0 ? blocks * s_.engine.block_size : seats_ * longest_;
  }

  // The first entry of the op with these words in its variant, in the scenario's formats: the
  // engine runs the first of several providers, as the simulator reads its table. Null where there
  // is none.
  const KernelEntry* entry(const std::string& op, const Variant& words) const {
    const KernelEntry* any = nullptr;
    for (const KernelEntry& e : entries_) {
      const bool fits = e.op == op && std::all_of(words.begin(), words.end(), [&](const auto& w) {
                          const auto it = e.variant.find(w.first);
                          return it != e.variant.end() && it->second == w.second;
                        });
      if (!fits) continue;
      if (formats_fit(e)) return &e;
      if (any == nullptr) any = &e;
    }
    return any;
  }

  bool formats_fit(const KernelEntry& e) const {
    const auto is = [&](const char* key, DType dtype) {
      const auto it = e.variant.find(key);
      return it == e.variant.end() || it->second == dtype_name(dtype);
    };
    return is("weights", s_.precision.weights) && is("activations", s_.precision.activations) &&
           is("kv", s_.precision.kv) && is("dtype", s_.precision.activations) &&
           (!e.variant.contains("window") || e.variant.at("window") == "0");
  }

  void add(const std::string& op, const Variant& words, std::vector<std::int64_t> key) {
    const KernelEntry* e = entry(op, words);
    if (e == nullptr) {
      std::string found = op;
      for (const auto& [word, value] : words) found += " " + word + "=" + value;
      throw InputError({s_.file, "model", found, "a model that this device's kernels cover"});
    }
    Case call{std::move(key), {}};
    const bool there = std::any_of(points_.begin(), points_.end(), [&](const Point& p) {
      return p.entry == e && p.call.key == call.key;
    });
    if (there || (e->supports && !e->supports(call))) return;
    points_.push_back({e, std::move(call), false});
  }
  // An op that a device need not have: the simulator prices a step without it.
  void add_if_there(const std::string& op, const Variant& words, std::vector<std::int64_t> key) {
    if (entry(op, words) != nullptr) add(op, words, std::move(key));
  }

  const std::vector<KernelEntry>& entries_;
  const Scenario& s_;
  RankOperators ops_;
  std::int64_t drafts_, seats_ = 0, rows_ = 0, longest_ = 0;
  std::vector<Point> points_;
};

}  // namespace

std::vector<Point> points_for(const std::vector<KernelEntry>& entries, const Scenario& scenario) {
  return Planner(entries, scenario).points();
}

}  // namespace headway::kernels
