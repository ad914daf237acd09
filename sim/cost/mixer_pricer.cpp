#include "sim/cost/mixer_pricer.h"

#include <cmath>
#include <cstdlib>

#include "sim/cost/measured_products.h"
#include "sim/cost/mixer_kinds.h"

namespace headway {
namespace {

class NoMixer final : public MixerPricer {
 public:
  Priced decode(double, double) const override { return {}; }
  std::vector<double> bends() const override { return {}; }
  Priced prefill(const std::vector<PrefillChunk>&, bool) const override { return {}; }
};

std::string text(const ProfileTable& table, const char* key, const char* none) {
  const auto it = table.variant.find(key);
  return it == table.variant.end() ? none : it->second;
}

}  // namespace

Priced MixerPricer::decode_fixed(double) const { return {}; }

AttentionTable find_attention(const Profile& profile, const std::string& op, DType kv,
                              std::int32_t head_dim, std::int32_t window) {
  AttentionTable best;
  double best_distance = 0;
  for (const ProfileTable& table : profile.tables) {
    if (table.op != op) continue;
    const double dim = std::atof(text(table, "head_dim", "0").c_str());
    const auto seen = static_cast<std::int32_t>(std::atoi(text(table, "window", "0").c_str()));
    if (dim <= 0 || (seen != 0 && seen != window)) continue;
    const std::string stored = text(table, "kv", "bf16");
    // Each rank outweighs all below it.
    double distance = std::abs(std::log2(dim / head_dim));
    if (seen != window) distance += 0.01;
    if (stored != table_dtype(kv)) distance += stored == "bf16" ? 100 : 200;
    if (best.table != nullptr && distance >= best_distance) continue;
    best = {&table, dim, parse_dtype(stored, table.file, "kv"), seen};
    best_distance = distance;
  }
  if (best.table == nullptr) {
    need_table(profile, op,
               {{"kv", table_dtype(kv)}, {"head_dim", std::to_string(head_dim)}, {"window", "0"}});
  }
  return best;
}

std::unique_ptr<MixerPricer> make_mixer_pricer(const Profile& profile, const RankOperators& ops,
                                               const RankLayer& layer, const GpuSpec& gpu,
                                               std::int32_t max_kv_tokens) {
  const MixerSpec& mixer = layer.spec.mixer;
  if (mixer.kind == MixerKind::kNone) return std::make_unique<NoMixer>();
  if (mixer.is_state()) return make_measured_state(profile, ops, layer, gpu);
  const bool sparse = mixer.sparse != SparseSpec{} || mixer.values_are_keys;
  if (mixer.kind == MixerKind::kAttention && !sparse) {
    return make_measured_attention(profile, ops, layer, gpu, max_kv_tokens);
  }
  return make_fitted_attention(profile, ops, layer, gpu);
}

}  // namespace headway
