#include "kernels/profiler/closure.h"

#include <algorithm>
#include <optional>

#include "kernels/profiler/grid.h"
#include "kernels/profiler/statistics.h"
#include "kernels/profiler/tables.h"

namespace headway::kernels {
namespace {

using Key = std::vector<std::int64_t>;

// One batch: `tokens` rows go through the products, `batch` sequences are sampled.
struct Load {
  bool prefill;
  std::int64_t batch, length;  // decode: KV tokens of each sequence; prefill: prompt tokens
  std::int64_t tokens() const { return prefill ? batch * length : batch; }
};

class Builder {
 public:
  Builder(const std::vector<KernelEntry>& entries, const ProfiledModel& model)
      : entries_(entries), model_(model) {}

  std::optional<Sequence> layer(const Load& load) {
    start();
    const std::vector<int> parts = layer_parts(load);
    sequence_.order = parts;
    return done();
  }

  std::optional<Sequence> step(const Load& load) {
    start();
    const RankOperators& r = model_.rank;
    const std::int64_t tokens = load.tokens();
    std::vector<int> order;
    if (has("embedding")) order.push_back(part("embedding", {}, {r.hidden, tokens}));
    const std::vector<int> layer = layer_parts(load);
    for (std::int32_t i = 0; i < r.layers; ++i) {
      order.insert(order.end(), layer.begin(), layer.end());
    }
    order.push_back(part("rmsnorm", {{"residual", "yes"}}, {r.hidden, tokens}));
    order.push_back(part("gemm", {{"weights", "bf16"}}, {r.lm_head.n, r.lm_head.k, load.batch}));
    order.push_back(part("sampling", {{"method", "greedy"}}, {r.vocab, load.batch}));
    sequence_.order = std::move(order);
    return done();
  }

 private:
  void start() {
    sequence_ = {};
    whole_ = true;
  }
  std::optional<Sequence> done() {
    return whole_ ? std::optional<Sequence>(std::move(sequence_)) : std::nullopt;
  }

  bool has(const std::string& op) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const KernelEntry& entry) { return entry.op == op; });
  }

  // The index of a new part by the first entry that fits.
  int part(const std::string& op, const Variant& variant, Key key) {
    const Case call{std::move(key), {}};
    for (const KernelEntry& entry : entries_) {
      bool fits = entry.op == op && timed(entry);
      for (const auto& [name, value] : variant) {
        const auto it = entry.variant.find(name);
        fits = fits && it != entry.variant.end() && it->second == value;
      }
      if (!fits || (entry.supports && !entry.supports(call))) continue;
      sequence_.parts.push_back({&entry, call});
      return static_cast<int>(sequence_.parts.size()) - 1;
    }
    whole_ = false;
    return 0;
  }

  std::vector<int> layer_parts(const Load& load) {
    const RankOperators& r = model_.rank;
    const RankLayer& one = r.first();
    const std::int64_t tokens = load.tokens();
    const Variant heads{{"head_dim", std::to_string(one.head_dim())}};
    const Variant attention{{"head_dim", std::to_string(one.head_dim())}, {"window", "0"}};
    const auto gemm = [&](std::size_t site) {
      return part("gemm", {{"weights", "bf16"}},
                  {one.gemms[site].n, one.gemms[site].k, tokens});
    };
    const int norm = part("rmsnorm", {{"residual", "yes"}}, {r.hidden, tokens});
    const int qkv = gemm(0);
    const int rope = part("rope", heads, {one.heads(), one.kv_heads(), tokens});
    const int write = part("kv_write", heads, {one.kv_heads(), tokens});
    const int attend = part(load.prefill ? "attn_prefill" : "attn_decode", attention,
                            {one.heads(), one.kv_heads(), load.batch, load.length});
    const int out = gemm(1);
    const int gate_up = gemm(2);
    const int silu = part("silu_mul", {}, {one.ffn(), tokens});
    const int down = gemm(3);
    return {norm, qkv, rope, write, attend, out, norm, gate_up, silu, down};
  }

  const std::vector<KernelEntry>& entries_;
  const ProfiledModel& model_;
  Sequence sequence_;
  bool whole_ = true;
};

std::string name_of(const char* what, const Load& load, const ProfiledModel& model) {
  return std::string(what) + (load.prefill ? " prefill " : " decode ") + "batch " +
         std::to_string(load.batch) + (load.prefill ? " new " : " context ") +
         std::to_string(load.length) + " " + model.label;
}

}  // namespace

std::vector<Whole> closure_wholes(const std::vector<KernelEntry>& entries,
                                  const ProfiledModel& model) {
  std::vector<Whole> wholes;
  if (model.spec.is_moe() || model.rank.first().spec.mixer.qk_norm) return wholes;
  Builder builder(entries, model);
  const auto add = [&](const char* what, const Load& load, std::optional<Sequence> sequence) {
    if (sequence) wholes.push_back({name_of(what, load, model), std::move(*sequence)});
  };
  for (const Load& load : {Load{false, 1, 1024}, Load{false, 8, 256}, Load{false, 8, 1024},
                           Load{false, 32, 1024}, Load{true, 1, 128}, Load{true, 1, 512}}) {
    add("layer", load, builder.layer(load));
  }
  for (const Load& load : {Load{false, 8, 1024}, Load{true, 1, 256}}) {
    add("step", load, builder.step(load));
  }
  return wholes;
}

std::vector<Closure> measure_closure(Backend& backend, const std::vector<Whole>& wholes,
                                     const std::vector<ProfileTable>& tables,
                                     const StoppingRule& rule, const Deadline& deadline) {
  std::vector<Closure> list;
  for (const Whole& whole : wholes) {
    if (deadline.stopped() || backend.now_s() >= deadline.at_s) break;
    std::vector<double> part_us;
    for (const Sequence::Part& part : whole.sequence.parts) {
      const auto us = table_time_us(tables, *part.entry, part.call.key);
      if (us) part_us.push_back(*us);
    }
    if (part_us.size() != whole.sequence.parts.size()) continue;
    double sum = 0;
    for (const int index : whole.sequence.order) sum += part_us[static_cast<std::size_t>(index)];
    try {
      const auto timer = backend.prepare(whole.sequence, 1);
      const Visit visit = measure(*timer, [&] { return backend.now_s(); }, rule, deadline);
      if (!visit.us.empty()) list.push_back({whole.what, median(visit.us), sum});
    } catch (const std::runtime_error&) {  // does not fit, or a call that the device refuses
    }
  }
  return list;
}

}  // namespace headway::kernels
