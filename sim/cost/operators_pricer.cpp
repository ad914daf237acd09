#include <algorithm>
#include <optional>

#include "sim/cost/collectives.h"
#include "sim/core/sim_time.h"
#include "sim/cost/measured_elementwise.h"
#include "sim/cost/measured_operators.h"
#include "sim/cost/measured_products.h"
#include "sim/cost/mixer_pricer.h"
#include "sim/cost/profile_pricers.h"
#include "sim/cost/roofline_cost.h"

namespace headway {
namespace {

constexpr double kElementwiseKernelsPerStep = 2;  // embedding, final norm

// The layers of one kind.
struct KindPricer {
  RankLayer layer;
  std::vector<RowsPricer> products;
  RowsPricer experts;  // empty: no mixture
  std::optional<ExpertExchange> exchange;  // ranks in step only
  std::optional<MeasuredElementwise> elementwise;
  std::shared_ptr<const MixerPricer> mixer;
};

class OperatorsPricer final : public StepPricer {
 public:
  OperatorsPricer(const Profile& profile, const RankOperators& ops, const GpuSpec& gpu,
                  std::int32_t max_kv_tokens)
      : ops_(ops), gpu_(gpu), name_(profile.name) {
    MeasuredProducts products(profile, ops, gpu);
    for (const RankLayer& layer : ops.kinds) {
      KindPricer kind{layer, {}, {}, {}, MeasuredElementwise::find(profile, ops, layer),
                      make_mixer_pricer(profile, ops, layer, gpu, max_kv_tokens)};
      for (const GemmSite& gemm : layer.gemms) kind.products.push_back(products.product(gemm));
      if (layer.is_moe()) kind.experts = products.experts(layer);
      if (layer.is_moe() && in_step()) kind.exchange.emplace(&profile, ops, layer, gpu);
      kinds_.push_back(std::move(kind));
    }
    lm_head_ = products.product(ops.lm_head);
    if (ops.tensor_parallel > 1) add_all_reduce(profile);
  }

  StepCost linear(std::int32_t tokens) const override {
    StepCost cost;
    if (tokens <= 0) return cost;
    for (const KindPricer& kind : kinds_) {
      for (const RowsPricer& product : kind.products) {
        add_layers(kind, cost, OpClass::kLinear, product(tokens));
      }
      if (kind.experts && !in_step()) {
        add_layers(kind, cost, OpClass::kLinear, kind.experts(tokens));
      }
    }
    add_elementwise(tokens, cost);
    if (all_reduce_) {
      const Priced one = all_reduce_->at(hidden_message_bytes(ops_, tokens));
      add_cost(cost, OpClass::kCommunication, ops_.all_reduces() * one.us, one.from);
    } else {
      add_cost(cost, OpClass::kCommunication, link_all_reduce_us(ops_, gpu_, tokens),
               Coverage::kRoofline);
    }
    add_cost(cost, OpClass::kCommunication, pipeline_sends_us(ops_, gpu_, tokens),
             Coverage::kRoofline);
    return cost;
  }

  StepCost experts(std::int32_t group_tokens) const override {
    StepCost cost;
    if (!in_step() || group_tokens <= 0) return cost;
    for (const KindPricer& kind : kinds_) {
      if (!kind.experts) continue;
      add_layers(kind, cost, OpClass::kLinear, kind.experts(group_tokens));
      add_layers(kind, cost, OpClass::kCommunication, kind.exchange->at(group_tokens));
    }
    return cost;
  }

  // The sampler is not in imported tables: host terms, fitted on a whole engine, hold it.
  StepCost lm_head(std::int32_t sequences) const override {
    StepCost cost;
    if (sequences <= 0) return cost;
    const Priced one = lm_head_(sequences);
    add_cost(cost, OpClass::kLmHead, one.us, one.from);
    const auto& elementwise = kinds_.front().elementwise;
    if (const auto sampler = elementwise ? elementwise->sampler(sequences) : std::nullopt) {
      add_cost(cost, OpClass::kLmHead, sampler->us, sampler->from);
    }
    return cost;
  }

  Priced decode_attention(std::int32_t batch, double kv_tokens) const override {
    Priced sum;
    for (const KindPricer& kind : kinds_) {
      const Priced one = kind.mixer->decode(batch, kv_tokens);
      sum = {sum.us + kind.layer.count * one.us, weaker(sum.from, one.from)};
    }
    return sum;
  }

  StepCost decode_fixed(std::int32_t batch) const override {
    StepCost cost;
    if (batch <= 0) return cost;
    for (const KindPricer& kind : kinds_) {
      add_layers(kind, cost, OpClass::kDecodeAttention, kind.mixer->decode_fixed(batch));
    }
    return cost;
  }

  std::vector<double> decode_knots(std::int32_t) const override {
    std::vector<double> knots;
    for (const KindPricer& kind : kinds_) {
      const std::vector<double> bends = kind.mixer->bends();
      knots.insert(knots.end(), bends.begin(), bends.end());
    }
    std::sort(knots.begin(), knots.end());
    knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
    return knots;
  }

  // Where unequal lengths were measured (attn_skew tables), a pure decode call follows the mean:
  // the median share is 0.02.
  double decode_skew(std::int32_t) const override { return 0; }

  // vLLM runs prefill and decode queries in one call, but the times of such calls (attn_mixed
  // tables) are 1.2 times the sum of the two apart in the median, so no floor is taken off.
  void add_prefill(const StepShape& shape, Priced decode, StepCost& cost) const override {
    add_chunks(shape, decode, true, cost);
  }

  void add_prefill_unlowered(const StepShape& shape, Priced decode,
                             StepCost& cost) const override {
    add_chunks(shape, decode, false, cost);
  }

  double kernels() const override { return step_kernels(ops_); }

  std::string describe() const override { return "operators of " + name_; }

 private:
  bool in_step() const { return ops_.data_parallel > 1; }
  static void add_layers(const KindPricer& kind, StepCost& cost, OpClass op, Priced one) {
    add_cost(cost, op, kind.layer.count * one.us, one.from);
  }

  void add_chunks(const StepShape& shape, Priced decode, bool tabulated, StepCost& cost) const {
    for (const KindPricer& kind : kinds_) {
      add_layers(kind, cost, OpClass::kPrefillAttention,
                 kind.mixer->prefill(shape.prefill, tabulated));
    }
    add_cost(cost, OpClass::kDecodeAttention, decode.us, decode.from);
  }

  // Measured where the profile has these kernels, else their bytes and a floor each.
  void add_elementwise(std::int32_t tokens, StepCost& cost) const {
    double bytes = 0, kernels = 0;
    for (const KindPricer& kind : kinds_) {
      if (kind.elementwise) {
        add_layers(kind, cost, OpClass::kElementwise, kind.elementwise->layer(tokens));
        continue;
      }
      bytes += elementwise_bytes(ops_, kind.layer, tokens) * kind.layer.count;
      kernels += elementwise_kernels(kind.layer) * kind.layer.count;
    }
    if (const auto& measured = kinds_.front().elementwise) {
      const Priced step = measured->step(tokens);
      add_cost(cost, OpClass::kElementwise, step.us, step.from);
    } else {
      bytes += ends_operator(ops_, tokens).bytes();
      kernels += kElementwiseKernelsPerStep;
    }
    if (kernels == 0) return;
    add_cost(cost, OpClass::kElementwise,
             bytes / (kStreamingShare * gpu_.memory_bandwidth) * kUsPerSecond +
                 kernels * kStreamingFloorUs,
             Coverage::kRoofline);
  }

  // GPU time inside a step: the time in a graph also for eager steps, since what eager launches
  // cost is host time. Without a table: the link's data sheet.
  void add_all_reduce(const Profile& profile) {
    for (const char* impl : {"custom-graph", "nccl"}) {
      if (const ProfileTable* table = profile.find("all_reduce", {{"impl", impl}})) {
        const OperatorTable op = measured_operator(*table);
        const std::vector<double> gpus{static_cast<double>(ops_.tensor_parallel)};
        if (op.has_site(gpus)) {
          all_reduce_ = op.site(gpus);
          return;
        }
      }
    }
  }

  RankOperators ops_;
  GpuSpec gpu_;
  std::string name_;
  std::vector<KindPricer> kinds_;
  RowsPricer lm_head_;
  std::optional<SitePricer> all_reduce_;
};

}  // namespace

bool has_operator_tables(const Profile& profile) { return profile.find("gemm", {}) != nullptr; }

std::unique_ptr<StepPricer> make_operators_pricer(const Profile& profile, const RankOperators& ops,
                                                  const GpuSpec& gpu, std::int32_t max_kv_tokens) {
  return std::make_unique<OperatorsPricer>(profile, ops, gpu, max_kv_tokens);
}

}  // namespace headway
