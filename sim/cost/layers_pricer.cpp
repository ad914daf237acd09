#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/cost/collectives.h"
#include "sim/cost/measured_operators.h"
#include "sim/cost/operator_work.h"
#include "sim/cost/profile_pricers.h"
#include "sim/cost/roofline_cost.h"

namespace headway {
namespace {

using Variant = std::map<std::string, std::string>;

// Which layers there are, how often each runs in a decoder layer (0: once a step), and as what.
struct LayerRow {
  const char* name;
  int per_layer;
  OpClass op;
};
constexpr LayerRow kLayers[] = {
    {"qkv_proj", 1, OpClass::kLinear},         {"o_proj", 1, OpClass::kLinear},
    {"gate_up_proj", 1, OpClass::kLinear},     {"down_proj", 1, OpClass::kLinear},
    {"layernorm", 2, OpClass::kElementwise},   {"qk_norm", 1, OpClass::kElementwise},
    {"rotary_emb", 1, OpClass::kElementwise},  {"act_fn", 1, OpClass::kElementwise},
    {"embedding", 0, OpClass::kElementwise},   {"final_layernorm", 0, OpClass::kElementwise},
};

// The share of the way from the mean's time to the longest's that unequal lengths cost, by number
// of decode sequences: the median over the measured mixes (alone: calls without prefill). It depends
// far more on that number than on the spread: with few sequences the longest decides. On the
// RTX PRO 6000 tables it leaves 3 / 14 % error (median / 90th percentile) where the mean alone
// leaves 7 / 29 %.
class SkewShare {
 public:
  void add(double sequences, double share) { samples_[sequences].push_back(share); }

  void finish() {
    for (auto& [sequences, shares] : samples_) {
      std::sort(shares.begin(), shares.end());
      logs_.push_back(std::log(sequences));
      shares_.push_back(std::clamp(shares[shares.size() / 2], 0.0, 1.0));
    }
    samples_.clear();
  }

  double at(double sequences) const {
    if (logs_.empty() || sequences <= 1) return 0;
    const double place = std::log(sequences);
    const auto above = std::upper_bound(logs_.begin(), logs_.end(), place);
    if (above == logs_.begin()) return shares_.front();
    if (above == logs_.end()) return shares_.back();
    const std::size_t i = static_cast<std::size_t>(above - logs_.begin());
    const double t = (place - logs_[i - 1]) / (logs_[i] - logs_[i - 1]);
    return shares_[i - 1] + t * (shares_[i] - shares_[i - 1]);
  }

 private:
  std::map<double, std::vector<double>> samples_;
  std::vector<double> logs_, shares_;
};

class LayersPricer final : public StepPricer {
 public:
  LayersPricer(const Profile& profile, const ModelSpec& model, const RankOperators& ops,
               const GpuSpec& gpu)
      : ops_(ops), gpu_(gpu), name_(profile.name), variant_(find_variant(profile, model, ops)) {
    for (const LayerRow& row : kLayers) {
      if (const ProfileTable* table = find(profile, "layer", row.name)) {
        layers_.push_back({measured_operator(*table).site({}), row});
      }
    }
    if (ops.first().is_moe()) {
      experts_ = measured_operator(need(profile, "layer_experts", {{"layer", "moe"}})).site({});
      exchange_.emplace(nullptr, ops, ops.first(), gpu);  // these tables hold no communication
    }
    lm_head_ = measured_operator(need(profile, "per_sequence", {{"layer", "lm_head"}})).site({});
    if (const ProfileTable* table = find(profile, "per_sequence", "sampler")) {
      sampler_ = measured_operator(*table).site({});
    }
    attention_ = measured_operator(need(profile, "attn_mixed", {})).site({});
    floor_us_ = attention(0, 0, 1, 1).us;
    learn_skew(profile);
  }

  StepCost linear(std::int32_t tokens) const override {
    StepCost cost;
    if (tokens <= 0) return cost;
    for (const auto& [pricer, row] : layers_) {
      const Priced one = pricer.at(tokens);
      const int times = row.per_layer == 0 ? 1 : row.per_layer * ops_.layers;
      add_cost(cost, row.op, times * one.us, one.from);
    }
    if (experts_ && ops_.data_parallel == 1) add_experts(tokens, cost);
    add_cost(cost, OpClass::kCommunication,
             link_all_reduce_us(ops_, gpu_, tokens) + pipeline_sends_us(ops_, gpu_, tokens),
             Coverage::kRoofline);
    return cost;
  }

  StepCost experts(std::int32_t group_tokens) const override {
    StepCost cost;
    if (!experts_ || ops_.data_parallel == 1 || group_tokens <= 0) return cost;
    add_experts(group_tokens, cost);
    const Priced one = exchange_->at(group_tokens);
    add_cost(cost, OpClass::kCommunication, ops_.layers * one.us, one.from);
    return cost;
  }

  StepCost lm_head(std::int32_t sequences) const override {
    StepCost cost;
    if (sequences <= 0) return cost;
    const Priced head = lm_head_.at(sequences);
    add_cost(cost, OpClass::kLmHead, head.us, head.from);
    if (sampler_) {
      const Priced sampler = sampler_->at(sequences);
      add_cost(cost, OpClass::kLmHead, sampler.us, sampler.from);
    }
    return cost;
  }

  Priced decode_attention(std::int32_t batch, double kv_tokens) const override {
    const Priced one = attention(0, 0, batch, kv_tokens / batch);
    return {ops_.layers * one.us, one.from};
  }

  std::vector<double> decode_knots(std::int32_t) const override { return attention_.last_axis(); }
  double decode_skew(std::int32_t batch) const override { return alone_.at(batch); }

  // The chunk with most query-key pairs shares the call with the decode batch; further chunks add
  // their own time over the launch floor.
  void add_prefill(const StepShape& shape, Priced decode, StepCost& cost) const override {
    std::size_t most = 0;
    const auto pairs = [](const PrefillChunk& c) {
      return double{1} * c.new_tokens * (c.context_tokens + 0.5 * c.new_tokens);
    };
    for (std::size_t i = 1; i < shape.prefill.size(); ++i) {
      if (pairs(shape.prefill[i]) > pairs(shape.prefill[most])) most = i;
    }
    Priced sum = mixed(shape.prefill[most], shape);
    for (std::size_t i = 0; i < shape.prefill.size(); ++i) {
      if (i == most) continue;
      const PrefillChunk& chunk = shape.prefill[i];
      const Priced one = attention(chunk.new_tokens, chunk.context_tokens, 0, 0);
      sum.us += std::max(0.0, one.us - floor_us_);
      sum.from = weaker(sum.from, one.from);
    }
    const double whole = ops_.layers * sum.us, apart = std::min(whole, decode.us);
    add_cost(cost, OpClass::kDecodeAttention, apart, sum.from);
    add_cost(cost, OpClass::kPrefillAttention, whole - apart, sum.from);
  }

  double kernels() const override { return step_kernels(ops_); }

  std::string describe() const override { return "layers of " + name_; }

 private:
  // Measured by tokens whose experts are all here, and by how many different ones they hit.
  void add_experts(double tokens, StepCost& cost) const {
    const ExpertWidths widths = expert_widths(ops_, ops_.first());
    const Priced one = experts_->at(expert_rows(widths, tokens) / widths.per_token,
                                    experts_hit(widths, tokens));
    add_cost(cost, OpClass::kLinear, ops_.layers * one.us, one.from);
  }

  static Variant find_variant(const Profile& profile, const ModelSpec& model,
                              const RankOperators& ops) {
    const Variant variant{{"model", model.name}, {"tp", std::to_string(ops.tensor_parallel)}};
    std::set<std::string> measured;
    for (const ProfileTable& table : profile.tables) {
      if (table.op != "attn_mixed") continue;
      measured.insert(table.variant.at("model") + " tp " + table.variant.at("tp"));
    }
    const std::string found = model.name + " tp " + std::to_string(ops.tensor_parallel);
    if (profile.find("attn_mixed", variant) == nullptr) {
      throw InputError({"", "profile " + profile.name, found,
                        one_of(found, {measured.begin(), measured.end()})});
    }
    if (ops.first().is_moe() && ops.tensor_parallel * ops.data_parallel != ops.expert_parallel) {
      throw InputError({"", "parallel.expert_parallel_size", std::to_string(ops.expert_parallel),
                        std::to_string(ops.tensor_parallel * ops.data_parallel) +
                            ": the experts of profile " + profile.name + " were measured whole"});
    }
    const auto wide = [](DType dtype) { return dtype == DType::kBf16 || dtype == DType::kFp16; };
    for (DType dtype : {ops.precision.weights, ops.precision.activations, ops.precision.kv}) {
      if (!wide(dtype)) {
        throw InputError({"", "precision with profile " + profile.name, dtype_name(dtype),
                          "bf16: its tables were measured in bf16 only"});
      }
    }
    return variant;
  }

  const ProfileTable* find(const Profile& profile, const std::string& op,
                           const std::string& layer) const {
    Variant variant = variant_;
    variant["layer"] = layer;
    return profile.find(op, variant);
  }

  const ProfileTable& need(const Profile& profile, const std::string& op,
                           const Variant& more) const {
    Variant variant = variant_;
    variant.insert(more.begin(), more.end());
    if (const ProfileTable* table = profile.find(op, variant)) return *table;
    const std::string layer = more.empty() ? "" : " " + more.begin()->second;
    throw InputError({"", "profile " + profile.name, "no " + op + layer + " table for " +
                      variant.at("model") + " tp " + variant.at("tp"), "one"});
  }

  Priced attention(double chunk, double context, double sequences, double kv) const {
    const double key[] = {chunk, context, sequences, kv};
    return attention_.at(key);
  }

  Priced mixed(const PrefillChunk& chunk, const StepShape& shape) const {
    const double n = shape.decode_sequences;
    if (n == 0) return attention(chunk.new_tokens, chunk.context_tokens, 0, 0);
    const double mean = static_cast<double>(shape.decode_kv_tokens) / n;
    Priced at_mean = attention(chunk.new_tokens, chunk.context_tokens, n, mean);
    const double share = with_prefill_.at(n);
    if (share == 0 || shape.decode_kv_max <= mean) return at_mean;
    const Priced at_most =
        attention(chunk.new_tokens, chunk.context_tokens, n, shape.decode_kv_max);
    at_mean.us += share * std::max(0.0, at_most.us - at_mean.us);
    return at_mean;
  }

  // Three tables of the same calls: lengths as they are, all at the mean, all at the longest.
  void learn_skew(const Profile& profile) {
    constexpr double kApart = 1.1;  // the two ends must differ for a share to mean anything
    const ProfileTable* tables[3];
    for (std::size_t i = 0; i < 3; ++i) {
      Variant variant = variant_;
      variant["at"] = std::array{"skew", "mean", "max"}[i];
      tables[i] = profile.find("attn_skew", variant);
      if (tables[i] == nullptr || tables[i]->keys != tables[0]->keys) return;
    }
    for (std::size_t row = 0; row < tables[0]->rows(); ++row) {
      const double skew = tables[0]->time_us[row], mean = tables[1]->time_us[row];
      const double most = tables[2]->time_us[row];
      if (most < kApart * mean) continue;
      const double sequences = static_cast<double>(tables[0]->key(row, 0));
      const bool prefill = tables[0]->key(row, 2) > 0;
      (prefill ? with_prefill_ : alone_).add(sequences, (skew - mean) / (most - mean));
    }
    with_prefill_.finish();
    alone_.finish();
  }

  RankOperators ops_;
  GpuSpec gpu_;
  std::string name_;
  Variant variant_;
  std::vector<std::pair<SitePricer, LayerRow>> layers_;
  std::optional<SitePricer> experts_, sampler_;
  std::optional<ExpertExchange> exchange_;
  SitePricer lm_head_, attention_;
  double floor_us_ = 0;
  SkewShare with_prefill_, alone_;
};

}  // namespace

bool has_layer_tables(const Profile& profile) { return profile.find("attn_mixed", {}) != nullptr; }

std::unique_ptr<StepPricer> make_layers_pricer(const Profile& profile, const ModelSpec& model,
                                               const RankOperators& ops, const GpuSpec& gpu) {
  return std::make_unique<LayersPricer>(profile, model, ops, gpu);
}

}  // namespace headway
