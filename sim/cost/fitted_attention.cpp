#include <algorithm>
#include <optional>

#include "sim/cost/measured_operators.h"
#include "sim/cost/measured_products.h"
#include "sim/cost/mixer_kinds.h"
#include "sim/cost/roofline_cost.h"

namespace headway {
namespace {

// Attention of which no table is known: its own FLOPs and bytes, at what this profile's kernels of
// the same sort were fitted with.
class FittedAttention final : public MixerPricer {
 public:
  FittedAttention(const Profile& profile, const RankOperators& ops, const RankLayer& layer,
                  const GpuSpec& gpu)
      : ops_(ops), layer_(layer), gpu_(gpu) {
    const MixerSpec& m = layer.spec.mixer;
    const bool latent = m.kind == MixerKind::kLatentAttention;
    const std::int32_t dim = latent ? m.v_head_dim : m.head_dim;
    const auto model = [&](const char* op, double kv_heads) {
      const AttentionTable found = find_attention(profile, op, ops.precision.kv, dim, 0);
      return measured_operator(*found.table).site({1.0 * m.heads, kv_heads}).model();
    };
    // All heads over one latent are what multi-query attention is to a kernel.
    decode_ = model("attn_decode", latent ? 1 : m.kv_heads);
    prefill_ = model("attn_prefill", m.kv_heads);
    product_ = MeasuredProducts(profile, ops, gpu).model();
    if (latent && m.sparse.top_k == 0) find_latent_table(profile);
  }

  Priced decode(double batch, double kv_tokens) const override {
    double sum = 0;
    for (const Operator& part : decode_operators(ops_, layer_, batch, kv_tokens)) {
      const bool attention = is_attention(part);
      if (attention && measured_) {
        const double key[] = {batch, kv_tokens / batch};
        sum += measured_->at(key).us;
        continue;
      }
      sum += attention ? decode_.us(demand(part, batch)) : product_.us(demand(part, 0));
    }
    return {sum, Coverage::kRoofline};
  }

  std::vector<double> bends() const override {
    std::vector<double> bends = roofline_bends(ops_, layer_, gpu_);
    if (measured_) {
      bends.insert(bends.end(), measured_->last_axis().begin(), measured_->last_axis().end());
    }
    std::sort(bends.begin(), bends.end());
    return bends;
  }

  Priced prefill(const std::vector<PrefillChunk>& chunks, bool) const override {
    double sum = 0;
    for (const Operator& part : prefill_operators(ops_, layer_, chunks)) {
      const auto sequences = static_cast<double>(chunks.size());
      sum += is_attention(part) ? prefill_.us(demand(part, sequences))
                                : product_.us(demand(part, 0));
    }
    return {sum, Coverage::kRoofline};
  }

 private:
  // Products of the same call have names of their own (absorb_q, kv_b, index).
  static bool is_attention(const Operator& part) {
    return part.name == std::string_view("attention");
  }
  static Demand demand(const Operator& part, double sequences) {
    return {{part.flops, part.bytes()}, sequences};
  }

  void find_latent_table(const Profile& profile) {
    const MixerSpec& m = layer_.spec.mixer;
    const ProfileTable* table =
        profile.find("mla_decode", {{"kv", table_dtype(ops_.precision.kv)},
                                    {"latent", std::to_string(m.kv_lora_rank)},
                                    {"rope", std::to_string(m.qk_rope_head_dim)}});
    if (table != nullptr) measured_ = measured_operator(*table).site({1.0 * m.heads});
  }

  RankOperators ops_;
  RankLayer layer_;
  GpuSpec gpu_;
  FittedModel decode_, prefill_, product_;
  std::optional<SitePricer> measured_;
};

}  // namespace

std::unique_ptr<MixerPricer> make_fitted_attention(const Profile& profile, const RankOperators& ops,
                                                   const RankLayer& layer, const GpuSpec& gpu) {
  return std::make_unique<FittedAttention>(profile, ops, layer, gpu);
}

}  // namespace headway
