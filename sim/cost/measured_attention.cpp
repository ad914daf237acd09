#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"
#include "sim/cost/measured_operators.h"
#include "sim/cost/measured_products.h"
#include "sim/cost/mixer_kinds.h"
#include "sim/cost/prefill_attention.h"
#include "sim/cost/roofline_cost.h"

namespace headway {
namespace {

class MeasuredAttention final : public MixerPricer {
 public:
  MeasuredAttention(const Profile& profile, const RankOperators& ops, const RankLayer& layer,
                    const GpuSpec& gpu, std::int32_t max_kv_tokens)
      : MeasuredAttention(Tables(profile, ops, layer), ops, layer, gpu, max_kv_tokens) {}

  Priced decode(double batch, double kv_tokens) const override {
    const double length = kv_tokens / batch;
    const bool cut = window_ > 0 && length > window_;
    Priced one = decode_.at(batch, cut ? window_ : length);
    if (window_ > 0) one.from = weaker(one.from, Coverage::kInterpolated);
    one.from = weaker(one.from, at_best_);
    if (!other_format_) return one;
    const double ratio = parts_us(decode_operators(ops_, layer_, batch, kv_tokens)) /
                         parts_us(decode_operators(measured_, layer_, batch, kv_tokens));
    return scaled(one, decode_.floor_us(), ratio);
  }

  std::vector<double> bends() const override {
    std::vector<double> bends = decode_.last_axis();
    if (window_ > 0) bends.push_back(window_);
    if (other_format_) {
      for (const RankOperators* ops : {&ops_, &measured_}) {
        const auto more = roofline_bends(*ops, layer_, gpu_);
        bends.insert(bends.end(), more.begin(), more.end());
      }
    }
    std::sort(bends.begin(), bends.end());
    bends.erase(std::unique(bends.begin(), bends.end()), bends.end());
    return bends;
  }

  Priced prefill(const std::vector<PrefillChunk>& chunks, bool tabulated) const override {
    Priced one = tabulated ? prefill_.call(chunks) : prefill_.call_untabulated(chunks);
    if (window_ > 0) one.from = weaker(one.from, Coverage::kInterpolated);
    one.from = weaker(one.from, at_best_);
    if (!other_format_) return one;
    const double ratio = parts_us(prefill_operators(ops_, layer_, chunks)) /
                         parts_us(prefill_operators(measured_, layer_, chunks));
    return scaled(one, decode_.floor_us(), ratio);
  }

 private:
  struct Tables {
    AttentionTable decode, prefill;
    SitePricer decode_at, prefill_at;

    Tables(const Profile& profile, const RankOperators& ops, const RankLayer& layer) {
      const MixerSpec& m = layer.spec.mixer;
      const auto find = [&](const char* op) {
        return find_attention(profile, op, ops.precision.kv, m.head_dim, m.window);
      };
      const auto site = [&](const AttentionTable& found) {
        const double as_many = m.head_dim / found.head_dim;
        return measured_operator(*found.table).site({m.heads * as_many, m.kv_heads * as_many});
      };
      decode = find("attn_decode");
      prefill = find("attn_prefill");
      decode_at = site(decode);
      prefill_at = site(prefill);
    }
  };

  // A window that both tables were measured with needs no care; one that only one was, neither.
  MeasuredAttention(const Tables& tables, const RankOperators& ops, const RankLayer& layer,
                    const GpuSpec& gpu, std::int32_t max_kv_tokens)
      : ops_(ops),
        measured_(ops),
        layer_(layer),
        gpu_(gpu),
        window_(tables.decode.window > 0 ? 0 : layer.spec.mixer.window),
        decode_(tables.decode_at),
        prefill_(tables.prefill_at, decode_, max_kv_tokens,
                 tables.prefill.window > 0 ? 0 : layer.spec.mixer.window) {
    const double dim = layer.spec.mixer.head_dim;
    if (tables.decode.head_dim != dim || tables.prefill.head_dim != dim) {
      at_best_ = Coverage::kExtrapolated;
    }
    measured_.precision.kv = tables.decode.kv;
    other_format_ = table_dtype(tables.decode.kv) != table_dtype(ops.precision.kv);
  }

  double parts_us(const OperatorParts& parts) const {
    double sum = 0;
    for (const Operator& part : parts) sum += operator_us(part, gpu_);
    return sum;
  }

  RankOperators ops_, measured_;  // measured_: in the table's KV format
  RankLayer layer_;
  GpuSpec gpu_;
  double window_;
  SitePricer decode_;
  PrefillAttention prefill_;
  Coverage at_best_ = Coverage::kMeasured;
  bool other_format_ = false;
};

}  // namespace

std::unique_ptr<MixerPricer> make_measured_attention(const Profile& profile,
                                                     const RankOperators& ops,
                                                     const RankLayer& layer, const GpuSpec& gpu,
                                                     std::int32_t max_kv_tokens) {
  return std::make_unique<MeasuredAttention>(profile, ops, layer, gpu, max_kv_tokens);
}

}  // namespace headway
