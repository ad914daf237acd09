#include <optional>
#include <string_view>

#include "sim/cost/measured_operators.h"
#include "sim/cost/measured_products.h"
#include "sim/cost/mixer_kinds.h"

namespace headway {
namespace {

// A recurrent mixer: nothing of it depends on the KV lengths.
class MeasuredState final : public MixerPricer {
 public:
  MeasuredState(const Profile& profile, const RankOperators& ops, const RankLayer& layer,
                const GpuSpec& gpu)
      : ops_(ops), layer_(layer), gpu_(gpu) {
    const MixerSpec& m = layer.spec.mixer;
    const StateSpec& s = m.state;
    const std::string dtype = s.element_bytes >= 4 ? "fp32" : "bf16";
    if (m.kind == MixerKind::kMamba2) {
      find(profile, "ssm_update", dtype, {1.0 * s.heads, 1.0 * s.value_dim, 1.0 * s.key_dim});
    } else if (m.kind == MixerKind::kGatedDeltaNet) {
      find(profile, "gdn_update", dtype, {1.0 * s.heads, 1.0 * s.key_dim, 1.0 * s.value_dim});
    }
  }

  Priced decode(double, double) const override { return {}; }

  Priced decode_fixed(double batch) const override {
    if (batch <= 0) return {};
    Priced sum;
    for (const Operator& part : decode_operators(ops_, layer_, batch, batch)) {
      const bool update = part.name == std::string_view("state_update");
      const Priced one = update && update_ ? update_->at(batch) : streamed(part);
      sum = {sum.us + one.us, weaker(sum.from, one.from)};
    }
    return sum;
  }

  std::vector<double> bends() const override { return {}; }

  Priced prefill(const std::vector<PrefillChunk>& chunks, bool) const override {
    double sum = 0;
    for (const Operator& part : prefill_operators(ops_, layer_, chunks)) sum += streamed(part).us;
    return {sum, Coverage::kRoofline};
  }

 private:
  void find(const Profile& profile, const char* op, const std::string& dtype,
            const std::vector<double>& site) {
    const ProfileTable* table = profile.find(op, {{"state_dtype", dtype}});
    if (table != nullptr) update_ = measured_operator(*table).site(site);
  }

  Priced streamed(const Operator& part) const {
    return {kStreamingFloorUs + operator_us(part, gpu_, {kStreamingShare, kStreamingShare}),
            Coverage::kRoofline};
  }

  RankOperators ops_;
  RankLayer layer_;
  GpuSpec gpu_;
  std::optional<SitePricer> update_;
};

}  // namespace

std::unique_ptr<MixerPricer> make_measured_state(const Profile& profile, const RankOperators& ops,
                                                 const RankLayer& layer, const GpuSpec& gpu) {
  return std::make_unique<MeasuredState>(profile, ops, layer, gpu);
}

}  // namespace headway
