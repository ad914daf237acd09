#include "kernels/profiler/grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "sim/core/errors.h"
#include "sim/core/hash.h"
#include "sim/core/suggest.h"

namespace headway::kernels {
namespace {

using Key = std::vector<std::int64_t>;
using Values = std::vector<std::int64_t>;
using Sites = std::set<Key>;

// The grid of one op: its sites, lists of the axes that follow them (quick, full), and which
// combinations are of use.
struct OpGrid {
  const char* op;
  void (*sites)(const KernelEntry& entry, const ProfiledModel& model, Sites& sites);
  std::array<std::vector<Values>, 2> axes;
  bool (*keep)(const Key& key);  // null: all
};

bool head_dim_is(const KernelEntry& entry, std::int64_t head_dim) {
  const auto it = entry.variant.find("head_dim");
  return it == entry.variant.end() || it->second == std::to_string(head_dim);
}

void gemm_sites(const KernelEntry&, const ProfiledModel& m, Sites& sites) {
  for (const GemmSite& site : m.rank.first().gemms) sites.insert({site.n, site.k});
  sites.insert({m.rank.lm_head.n, m.rank.lm_head.k});
}
void head_sites(const KernelEntry& entry, const ProfiledModel& m, Sites& sites) {
  const RankLayer& layer = m.rank.first();
  if (head_dim_is(entry, layer.head_dim())) sites.insert({layer.heads(), layer.kv_heads()});
}
void kv_head_sites(const KernelEntry& entry, const ProfiledModel& m, Sites& sites) {
  if (head_dim_is(entry, m.rank.first().head_dim())) sites.insert({m.rank.first().kv_heads()});
}
void hidden_sites(const KernelEntry&, const ProfiledModel& m, Sites& sites) {
  sites.insert({m.rank.hidden});
}
// With the residual: the rows between the halves of a layer. Without: queries and keys, head by
// head, where a model normalises those.
void norm_sites(const KernelEntry& entry, const ProfiledModel& m, Sites& sites) {
  const auto it = entry.variant.find("residual");
  const bool residual = it != entry.variant.end() && it->second == "yes";
  if (residual || !m.rank.first().spec.mixer.qk_norm) sites.insert({m.rank.hidden});
  if (!residual && m.rank.first().spec.mixer.qk_norm) sites.insert({m.rank.first().head_dim()});
}
void ffn_sites(const KernelEntry&, const ProfiledModel& m, Sites& sites) {
  if (m.rank.first().ffn() > 0) sites.insert({m.rank.first().ffn()});
}
void vocab_sites(const KernelEntry&, const ProfiledModel& m, Sites& sites) {
  sites.insert({m.rank.vocab});
}
// DeepSeek-V3 under tensor parallelism 8, and all of its heads (data parallel attention).
void mla_sites(const KernelEntry&, const ProfiledModel&, Sites& sites) {
  sites.insert({16});
  sites.insert({128});
}
// Mamba-2 2.7B and Nemotron-H 8B: heads, head size, state.
void ssm_sites(const KernelEntry&, const ProfiledModel&, Sites& sites) {
  sites.insert({80, 64, 128});
  sites.insert({128, 64, 128});
}
// Qwen3-Next 80B: 32 value heads of 128 x 128.
void gdn_sites(const KernelEntry&, const ProfiledModel&, Sites& sites) {
  sites.insert({32, 128, 128});
}

bool small_total(const Key& key) { return key[2] * key[3] <= (std::int64_t{4} << 20); }
bool few_prompts(const Key& key) { return key[2] == 1 || key[3] <= 4096; }

const Values kQuickM{1, 2, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024, 2048};
// Steps of 32 and 64 between 128 and 512: tiles of products end there.
const Values kFullM{1,   2,   4,   8,   16,  24,  32,  48,   64,   96,   128,  160,  192,
                    224, 256, 320, 384, 448, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192};
const Values kQuickRows{1, 8, 64, 512, 4096}, kFullRows{1, 4, 16, 64, 256, 1024, 4096, 8192};
const Values kQuickStates{1, 8, 64, 256}, kFullStates{1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
const Values kQuickBatch{1, 4, 16, 64}, kFullBatch{1, 2, 4, 8, 16, 32, 64, 128, 256};

const std::vector<OpGrid>& op_grids() {
  static const std::vector<OpGrid> grids{
      {"gemm", gemm_sites, {{{kQuickM}, {kFullM}}}, nullptr},
      {"attn_decode", head_sites,
       {{{kQuickBatch, {16, 64, 256, 1024, 4096, 16384}},
         {kFullBatch, {16, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072}}}},
       small_total},
      {"attn_prefill", head_sites,
       {{{{1, 4}, {16, 64, 128, 256, 512, 1024, 4096}},
         {{1, 4}, {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}}}},
       few_prompts},
      {"attn_prefill_past", head_sites,
       {{{{1}, {256, 1024, 4096}, {16, 128, 512}},
         {{1, 4}, {1024, 4096, 16384, 65536}, {1, 4, 16, 64, 256, 1024, 2048, 4096}}}},
       nullptr},
      {"rmsnorm", norm_sites, {{{kQuickRows}, {kFullRows}}}, nullptr},
      {"rope", head_sites, {{{kQuickRows}, {kFullRows}}}, nullptr},
      {"silu_mul", ffn_sites, {{{kQuickRows}, {kFullRows}}}, nullptr},
      {"kv_write", kv_head_sites, {{{kQuickRows}, {kFullRows}}}, nullptr},
      {"embedding", hidden_sites, {{{kQuickRows}, {kFullRows}}}, nullptr},
      {"sampling", vocab_sites, {{{kQuickBatch}, {kFullBatch}}}, nullptr},
      {"rejection_verify", vocab_sites,
       {{{{1, 8, 64}, {1, 4}}, {kQuickBatch, {1, 2, 4, 8}}}}, nullptr},
      {"mla_decode", mla_sites,
       {{{kQuickBatch, {256, 1024, 4096, 16384}},
         {{1, 4, 16, 32, 64, 128}, {256, 1024, 4096, 16384, 32768, 65536}}}},
       [](const Key& key) { return key[1] * key[2] <= (std::int64_t{4} << 20); }},
      {"ssm_update", ssm_sites, {{{kQuickStates}, {kFullStates}}}, nullptr},
      {"gdn_update", gdn_sites, {{{kQuickStates}, {kFullStates}}}, nullptr},
  };
  return grids;
}

// Whether the device can and should run a case.
class Gate {
 public:
  explicit Gate(const GridOptions& options) : options_(options) {}
  bool admits(const KernelEntry& entry, const Case& call) const {
    if (entry.supports && !entry.supports(call)) return false;
    const Work work = entry.work(call);
    const double seconds = std::max(work.flops / options_.flops, work.bytes / options_.bytes_per_s);
    return seconds <= options_.longest_call_s &&
           work.rotated_bytes + work.shared_bytes <= options_.memory_bytes;
  }

 private:
  const GridOptions& options_;
};

void cross(const std::vector<Values>& axes, Key& key, std::vector<Key>& out) {
  const std::size_t depth = key.size();
  if (axes.empty()) {
    out.push_back(key);
    return;
  }
  const std::vector<Values> rest(axes.begin() + 1, axes.end());
  for (const std::int64_t value : axes.front()) {
    key.push_back(value);
    cross(rest, key, out);
    key.resize(depth);
  }
}

// A sliding window bounds what there is to learn: its variants get the short lists.
const std::vector<Values>& axes_for(const KernelEntry& entry, const OpGrid& grid, GridSize size) {
  const auto it = entry.variant.find("window");
  const bool windowed = it != entry.variant.end() && it->second != "0";
  return grid.axes[static_cast<std::size_t>(windowed ? GridSize::kQuick : size)];
}

std::vector<Key> grid_keys(const KernelEntry& entry, const OpGrid& grid,
                           const GridOptions& options) {
  Sites sites;
  for (const ProfiledModel& model : options.models) grid.sites(entry, model, sites);
  std::vector<Key> keys, kept;
  for (Key site : sites) cross(axes_for(entry, grid, options.size), site, keys);
  const Gate gate(options);
  for (Key& key : keys) {
    if (grid.keep != nullptr && !grid.keep(key)) continue;
    if (gate.admits(entry, {key, {}})) kept.push_back(std::move(key));
  }
  return kept;
}

// A small generator of our own: its digits are the same everywhere.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  double uniform() {
    state_ = mix64(state_);
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  std::size_t index(std::size_t n) {
    return std::min(static_cast<std::size_t>(uniform() * static_cast<double>(n)), n - 1);
  }

 private:
  std::uint64_t state_;
};

// Between a grid point and its next neighbours along each axis, evenly in the logs.
Key between(const Key& from, const std::vector<Values>& axes, Draw& draw) {
  Key key = from;
  const std::size_t site = from.size() - axes.size();
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const auto next = std::upper_bound(axes[a].begin(), axes[a].end(), from[site + a]);
    const double u = draw.uniform();
    if (next == axes[a].end()) continue;
    const double low = std::log(static_cast<double>(from[site + a]));
    const double high = std::log(static_cast<double>(*next));
    key[site + a] = std::llround(std::exp(low + u * (high - low)));
  }
  return key;
}

// Lengths between a quarter and seven quarters of the mean, which the key then says exactly.
Case ragged(Key key, Draw& draw) {
  Case call{std::move(key), {}};
  const auto batch = static_cast<std::size_t>(call.key[2]);
  const double mean = static_cast<double>(call.key[3]);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < batch; ++i) {
    const std::int64_t length =
        std::max<std::int64_t>(1, std::llround(mean * (0.25 + 1.5 * draw.uniform())));
    call.lengths.push_back(length);
    sum += length;
  }
  call.key[3] = std::max<std::int64_t>(1, std::llround(static_cast<double>(sum) / batch));
  return call;
}

void add_probes(const KernelEntry& entry, const OpGrid& grid, const GridOptions& options,
                const std::vector<Key>& keys, std::uint64_t seed, std::vector<Point>& points) {
  if (keys.size() < 8 || options.probe_share <= 0) return;
  const auto wanted = static_cast<std::size_t>(
      std::ceil(options.probe_share * static_cast<double>(keys.size())));
  const std::vector<Values>& axes = axes_for(entry, grid, options.size);
  const Gate gate(options);
  Draw draw(seed);
  std::set<Key> taken(keys.begin(), keys.end());
  const auto add = [&](Case call) {
    if (call.lengths.empty() && !taken.insert(call.key).second) return false;
    if (!gate.admits(entry, call)) return false;
    points.push_back({&entry, std::move(call), true});
    return true;
  };
  std::size_t added = 0;
  for (std::size_t tries = 0; added < wanted && tries < 50 * wanted; ++tries) {
    added += add({between(keys[draw.index(keys.size())], axes, draw), {}});
  }
  if (entry.op != "attn_decode") return;
  added = 0;
  for (std::size_t tries = 0; added < (wanted + 1) / 2 && tries < 50 * wanted; ++tries) {
    const Key& key = keys[draw.index(keys.size())];
    if (key[2] >= 4 && key[3] >= 64) added += add(ragged(key, draw));
  }
}

}  // namespace

bool timed(const KernelEntry& entry) {
  return std::none_of(entry.variant.begin(), entry.variant.end(),
                      [](const auto& item) { return item.second == "fp16"; });
}

std::vector<Point> make_grid(const std::vector<KernelEntry>& entries, const GridOptions& options) {
  std::vector<Point> points;
  for (const KernelEntry& entry : entries) {
    if (!timed(entry)) continue;
    for (const OpGrid& grid : op_grids()) {
      if (entry.op != grid.op) continue;
      const std::vector<Key> keys = grid_keys(entry, grid, options);
      for (const Key& key : keys) points.push_back({&entry, {key, {}}, false});
      std::uint64_t seed = combine64(options.seed, hash_name(entry.op + entry.impl));
      for (const auto& [name, value] : entry.variant) {
        seed = combine64(seed, hash_name(name + value));
      }
      add_probes(entry, grid, options, keys, seed, points);
    }
  }
  return points;
}

std::vector<KernelEntry> only(const std::vector<KernelEntry>& entries, const std::string& name) {
  if (name.empty()) return entries;
  std::vector<KernelEntry> chosen;
  std::set<std::string> names;
  for (const KernelEntry& entry : entries) {
    names.insert({entry.op, entry.name});
    if (entry.op == name || entry.name == name) chosen.push_back(entry);
  }
  if (chosen.empty()) {
    throw InputError({"command line", "--kernel", "the unknown kernel \"" + name + "\"",
                      one_of(name, {names.begin(), names.end()})});
  }
  return chosen;
}

}  // namespace headway::kernels
