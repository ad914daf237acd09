#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/core/errors.h"
#include "sim/cost/measured_elementwise.h"
#include "sim/cost/measured_operators.h"
#include "sim/cost/prefill_attention.h"
#include "sim/cost/profile_pricers.h"
#include "sim/cost/roofline_cost.h"

namespace headway {
namespace {

constexpr double kElementwiseShare = 0.8;  // of data-sheet bandwidth; what streaming kernels reach
// Norms, RoPE and activations are not in imported tables, but they are kernels as the measured ones
// are and have a launch floor as those do: 3 us, the constant that AIConfigurator's systems.csv
// states for memory-bound kernels of every GPU (LLMServingSim times such kernels at 2.1 to 3.2 us
// on few tokens). A layer runs four: two norms with residual, RoPE, activation; a step the
// embedding and the final norm besides.
constexpr double kElementwiseFloorUs = 3.0;
constexpr double kElementwiseKernelsPerLayer = 4, kElementwiseKernelsPerStep = 2;
constexpr double kUsPerSecond = 1e6;
using Variant = std::map<std::string, std::string>;

// Tables name 16-bit floats bf16: both run at the same speed.
std::string table_dtype(DType dtype) {
  return dtype_name(dtype == DType::kFp16 ? DType::kBf16 : dtype);
}

std::string text_of(const Variant& variant) {
  std::string text;
  for (const auto& [key, value] : variant) text += (text.empty() ? "" : " ") + key + "=" + value;
  return text;
}

const ProfileTable& need(const Profile& profile, const std::string& op, const Variant& variant) {
  if (const ProfileTable* table = profile.find(op, variant)) return *table;
  std::string choices;
  for (const ProfileTable& table : profile.tables) {
    if (table.op == op) choices += (choices.empty() ? "" : "; ") + text_of(table.variant);
  }
  throw InputError({"", "profile " + profile.name, op + " with " + text_of(variant),
                    choices.empty() ? "a profile that has " + op : "one of: " + choices});
}

SitePricer site(const Profile& profile, const std::string& op, const Variant& variant,
                const std::vector<double>& widths) {
  return measured_operator(need(profile, op, variant)).site(widths);
}

Variant attention_variant(const RankOperators& ops) {
  return {{"kv", table_dtype(ops.precision.kv)},
          {"head_dim", std::to_string(ops.head_dim)},
          {"window", "0"}};
}

class OperatorsPricer final : public StepPricer {
 public:
  OperatorsPricer(const Profile& profile, const RankOperators& ops, const GpuSpec& gpu,
                  std::int32_t max_kv_tokens)
      : ops_(ops),
        gpu_(gpu),
        name_(profile.name),
        elementwise_(MeasuredElementwise::find(profile, ops)),
        decode_(site(profile, "attn_decode", attention_variant(ops), head_site(ops))),
        prefill_(site(profile, "attn_prefill", attention_variant(ops), head_site(ops)), decode_,
                 max_kv_tokens) {
    Products products;
    for (const GemmSite& gemm : ops.layer_gemms) {
      gemms_.push_back(product(profile, gemm, products));
    }
    lm_head_ = product(profile, ops.lm_head, products);
    if (ops.is_moe()) add_experts(profile);
    if (ops.tensor_parallel > 1) add_all_reduce(profile);
  }

  StepCost linear(std::int32_t tokens) const override {
    StepCost cost;
    if (tokens <= 0) return cost;
    for (const SitePricer& gemm : gemms_) add_layers(cost, OpClass::kLinear, gemm.at(tokens));
    if (experts_) add_layers(cost, OpClass::kLinear, experts_->at(tokens));
    add_elementwise(tokens, cost);
    if (all_reduce_) {
      const Priced one = all_reduce_->at(hidden_message_bytes(ops_, tokens));
      add_layers(cost, OpClass::kCommunication, {2 * one.us, one.from});
    } else {
      add_cost(cost, OpClass::kCommunication, link_all_reduce_us(ops_, gpu_, tokens),
               Coverage::kRoofline);
    }
    add_cost(cost, OpClass::kCommunication, pipeline_sends_us(ops_, gpu_, tokens),
             Coverage::kRoofline);
    return cost;
  }

  // The sampler is not in imported tables: host terms, fitted on a whole engine, hold it.
  StepCost lm_head(std::int32_t sequences) const override {
    StepCost cost;
    if (sequences <= 0) return cost;
    const Priced one = lm_head_.at(sequences);
    add_cost(cost, OpClass::kLmHead, one.us, one.from);
    if (const auto sampler = elementwise_ ? elementwise_->sampler(sequences) : std::nullopt) {
      add_cost(cost, OpClass::kLmHead, sampler->us, sampler->from);
    }
    return cost;
  }

  Priced decode_attention(std::int32_t batch, double kv_tokens) const override {
    const Priced one = decode_.at(batch, kv_tokens / batch);
    return {ops_.layers * one.us, one.from};
  }

  std::vector<double> decode_knots(std::int32_t) const override { return decode_.last_axis(); }

  // Where unequal lengths were measured (attn_skew tables), a pure decode call follows the mean:
  // the median share is 0.02.
  double decode_skew(std::int32_t) const override { return 0; }

  // vLLM runs prefill and decode queries in one call, but the times of such calls (attn_mixed
  // tables) are 1.2 times the sum of the two apart in the median, so no floor is taken off.
  void add_prefill(const StepShape& shape, Priced decode, StepCost& cost) const override {
    add_layers(cost, OpClass::kPrefillAttention, prefill_.call(shape.prefill));
    add_cost(cost, OpClass::kDecodeAttention, decode.us, decode.from);
  }

  void add_prefill_unlowered(const StepShape& shape, Priced decode,
                             StepCost& cost) const override {
    add_layers(cost, OpClass::kPrefillAttention, prefill_.call_untabulated(shape.prefill));
    add_cost(cost, OpClass::kDecodeAttention, decode.us, decode.from);
  }

  std::string describe() const override { return "operators of " + name_; }

 private:
  static std::vector<double> head_site(const RankOperators& ops) {
    return {static_cast<double>(ops.heads), static_cast<double>(ops.kv_heads)};
  }
  // Tables of products by variant, so that each is fitted once.
  using Products = std::map<const ProfileTable*, OperatorTable>;
  SitePricer product(const Profile& profile, const GemmSite& gemm, Products& products) const {
    const Precision precision = gemm_precision(gemm, ops_.precision);
    const ProfileTable& table =
        need(profile, "gemm",
             {{"weights", table_dtype(precision.weights)},
              {"activations", table_dtype(precision.activations)}});
    auto it = products.find(&table);
    if (it == products.end()) it = products.emplace(&table, measured_operator(table)).first;
    return it->second.site({static_cast<double>(gemm.n), static_cast<double>(gemm.k)});
  }

  void add_elementwise(std::int32_t tokens, StepCost& cost) const {
    if (elementwise_) {
      const Priced step = elementwise_->step(tokens);
      add_layers(cost, OpClass::kElementwise, elementwise_->layer(tokens));
      add_cost(cost, OpClass::kElementwise, step.us, step.from);
      return;
    }
    const double bytes =
        layer_elementwise_bytes(ops_, tokens) * ops_.layers + step_elementwise_bytes(ops_, tokens);
    const double kernels = kElementwiseKernelsPerLayer * ops_.layers + kElementwiseKernelsPerStep;
    add_cost(cost, OpClass::kElementwise,
             bytes / (kElementwiseShare * gpu_.memory_bandwidth) * kUsPerSecond +
                 kernels * kElementwiseFloorUs,
             Coverage::kRoofline);
  }

  void add_layers(StepCost& cost, OpClass op, Priced one) const {
    add_cost(cost, op, ops_.layers * one.us, one.from);
  }

  // Real routing is uneven: the power-law load where it was measured.
  void add_experts(const Profile& profile) {
    const std::string weights = table_dtype(ops_.precision.weights);
    const ProfileTable* table =
        profile.find("moe", {{"weights", weights}, {"distribution", "power_law_1.2"}});
    if (table == nullptr) table = &need(profile, "moe", {{"weights", weights}});
    experts_ = measured_operator(*table).site(
        {static_cast<double>(ops_.hidden), static_cast<double>(ops_.expert_ffn),
         static_cast<double>(ops_.experts_per_token), static_cast<double>(ops_.experts),
         static_cast<double>(ops_.tensor_parallel), 1});
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
  std::vector<SitePricer> gemms_;
  SitePricer lm_head_;
  std::optional<SitePricer> experts_, all_reduce_;
  std::optional<MeasuredElementwise> elementwise_;
  SitePricer decode_;
  PrefillAttention prefill_;
};

}  // namespace

bool has_operator_tables(const Profile& profile) { return profile.find("gemm", {}) != nullptr; }

std::unique_ptr<StepPricer> make_operators_pricer(const Profile& profile, const RankOperators& ops,
                                                  const GpuSpec& gpu, std::int32_t max_kv_tokens) {
  return std::make_unique<OperatorsPricer>(profile, ops, gpu, max_kv_tokens);
}

}  // namespace headway
