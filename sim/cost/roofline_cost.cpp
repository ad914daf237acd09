#include "sim/cost/roofline_cost.h"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"
#include "sim/core/sim_time.h"
#include "sim/cost/collectives.h"

namespace headway {
namespace {

constexpr Coverage kFrom = Coverage::kRoofline;

class RooflinePricer final : public StepPricer {
 public:
  RooflinePricer(const RankOperators& ops, const GpuSpec& gpu, RooflineEfficiency efficiency)
      : ops_(ops),
        gpu_(gpu),
        efficiency_(efficiency),
        bandwidth_(gpu.memory_bandwidth * efficiency.memory) {
    SIM_CHECK(gpu.flops(ops.precision.weights, ops.precision.activations) > 0 && bandwidth_ > 0 &&
                  gpu.flops(DType::kBf16, DType::kBf16) > 0,
              gpu.name);
  }

  StepCost linear(std::int32_t tokens) const override {
    StepCost cost;
    if (tokens <= 0) return cost;
    double products = 0, bytes = 0;
    for (const RankLayer& layer : ops_.kinds) {
      double one = 0;
      for (const GemmSite& site : layer.gemms) one += gemm_us(site, tokens);
      if (layer.is_moe() && ops_.data_parallel == 1) {
        one += us(experts_operator(ops_, layer, tokens));
      }
      products += one * layer.count;
      bytes += elementwise_bytes(ops_, layer, tokens) * layer.count;
    }
    bytes += ends_operator(ops_, tokens).bytes();
    add_cost(cost, OpClass::kLinear, products, kFrom);
    add_cost(cost, OpClass::kElementwise, bytes / bandwidth_ * kUsPerSecond, kFrom);
    add_cost(cost, OpClass::kCommunication,
             link_all_reduce_us(ops_, gpu_, tokens) + pipeline_sends_us(ops_, gpu_, tokens), kFrom);
    return cost;
  }

  StepCost experts(std::int32_t group_tokens) const override {
    StepCost cost;
    if (ops_.data_parallel == 1 || group_tokens <= 0) return cost;
    for (const RankLayer& layer : ops_.kinds) {
      if (!layer.is_moe()) continue;
      const Priced exchange = ExpertExchange(nullptr, ops_, layer, gpu_).at(group_tokens);
      add_cost(cost, OpClass::kLinear,
               layer.count * us(experts_operator(ops_, layer, group_tokens)), kFrom);
      add_cost(cost, OpClass::kCommunication, layer.count * exchange.us, kFrom);
    }
    return cost;
  }

  StepCost lm_head(std::int32_t sequences) const override {
    StepCost cost;
    if (sequences <= 0) return cost;
    add_cost(cost, OpClass::kLmHead, gemm_us(ops_.lm_head, sequences), kFrom);
    return cost;
  }

  Priced decode_attention(std::int32_t batch, double kv_tokens) const override {
    double sum = 0;
    for (const RankLayer& layer : ops_.kinds) {
      sum += layer.count * parts_us(decode_operators(ops_, layer, batch, kv_tokens));
    }
    return {sum, kFrom};
  }

  std::vector<double> decode_knots(std::int32_t) const override {
    std::vector<double> knots;
    for (const RankLayer& layer : ops_.kinds) {
      const auto bends = roofline_bends(ops_, layer, gpu_, efficiency_);
      knots.insert(knots.end(), bends.begin(), bends.end());
    }
    std::sort(knots.begin(), knots.end());
    knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
    return knots;
  }

  double decode_skew(std::int32_t) const override { return 0; }

  void add_prefill(const StepShape& shape, Priced decode, StepCost& cost) const override {
    double sum = 0;
    for (const RankLayer& layer : ops_.kinds) {
      sum += layer.count * parts_us(prefill_operators(ops_, layer, shape.prefill));
    }
    add_cost(cost, OpClass::kPrefillAttention, sum, kFrom);
    add_cost(cost, OpClass::kDecodeAttention, decode.us, decode.from);
  }

  std::string describe() const override { return "roofline of " + gpu_.name; }

 private:
  double us(const Operator& op) const { return operator_us(op, gpu_, efficiency_); }
  double gemm_us(const GemmSite& site, double rows) const {
    return us(gemm_operator(site, rows, ops_.precision));
  }
  double parts_us(const OperatorParts& parts) const {
    double sum = 0;
    for (const Operator& part : parts) sum += us(part);
    return sum;
  }

  RankOperators ops_;
  GpuSpec gpu_;
  RooflineEfficiency efficiency_;
  double bandwidth_;
};

class LectureRoofline final : public CostModel {
 public:
  explicit LectureRoofline(const CostOptions& options)
      : name_(options.gpu.name),
        ranks_(options.tensor_parallel_size * options.pipeline_parallel_size),
        weight_bytes_(lecture_weight_bytes(options.model, options.precision)),
        weights_(weight_bytes_ / bytes_per_element(options.precision.weights)),
        peak_(options.gpu.flops(options.precision.weights, options.precision.activations)),
        bandwidth_(options.gpu.memory_bandwidth) {
    for (const LayerKind& kind : layer_kinds(options.model)) {
      const LayerCache cache = layer_cache(kind.layer, options.precision.kv);
      state_bytes_ += kind.count * cache.state_bytes;
      if (!kind.layer.mixer.is_attention()) continue;
      const MixerSpec& m = kind.layer.mixer;
      attention_.push_back({cache.window, kind.count * cache.bytes_per_token,
                            2.0 * kind.count * m.heads * (m.head_dim + m.v_head_dim)});
    }
  }

  StepCost price(const StepShape& shape) const override {
    Work work{2 * weights_ * shape.tokens, weight_bytes_};
    add(shape.decode_sequences, static_cast<double>(shape.decode_kv_tokens), shape.decode_sequences,
        static_cast<double>(shape.decode_kv_tokens), work);
    for (const PrefillChunk& chunk : shape.prefill) {
      const double c = chunk.new_tokens, h = chunk.context_tokens;
      add(1, h + c, c, c * (h + c / 2), work);
    }
    StepCost cost;
    if (shape.tokens > 0) {
      add_cost(cost, OpClass::kLinear, roofline_us(work, peak_ * ranks_, bandwidth_ * ranks_),
               kFrom);
    }
    return cost;
  }

  std::string describe() const override {
    return "lecture roofline of " + name_ + ": weights once and KV, over bandwidth";
  }

 private:
  struct Layers {
    std::int32_t window;
    double bytes_per_token, flops_per_pair;
  };

  // KV of a window at most, pairs of a query and a window at most; states are read and written.
  void add(double sequences, double kv_tokens, double queries, double pairs, Work& work) const {
    for (const Layers& layers : attention_) {
      const double window = layers.window;
      work.bytes += layers.bytes_per_token *
                    (window == 0 ? kv_tokens : std::min(kv_tokens, sequences * window));
      work.flops += layers.flops_per_pair *
                    (window == 0 ? pairs : std::min(pairs, queries * window));
    }
    work.bytes += 2 * state_bytes_ * sequences;
  }

  std::string name_;
  double ranks_, weight_bytes_, weights_, peak_, bandwidth_;
  double state_bytes_ = 0;
  std::vector<Layers> attention_;
};

}  // namespace

double roofline_us(const Work& work, double peak_flops, double bandwidth) {
  return std::max(work.flops / peak_flops, work.bytes / bandwidth) * kUsPerSecond;
}

double link_all_reduce_us(const RankOperators& ops, const GpuSpec& gpu, double tokens) {
  const double p = ops.tensor_parallel;
  if (p <= 1 || gpu.link_bandwidth <= 0) return 0;
  const double bytes = 2 * (p - 1) / p * hidden_message_bytes(ops, tokens);
  const double each = bytes / gpu.link_bandwidth * kUsPerSecond + gpu.link_latency_us;
  return ops.all_reduces() * each;
}

double pipeline_sends_us(const RankOperators& ops, const GpuSpec& gpu, double tokens) {
  if (ops.pipeline_parallel <= 1 || gpu.link_bandwidth <= 0) return 0;
  const double bytes = hidden_message_bytes(ops, tokens);
  return (ops.pipeline_parallel - 1) *
         (bytes / gpu.link_bandwidth * kUsPerSecond + gpu.link_latency_us);
}

// Each operator is straight between bends of its own; compute and memory cross where their lines do.
std::vector<double> roofline_bends(const RankOperators& ops, const RankLayer& layer,
                                   const GpuSpec& gpu, const RooflineEfficiency& efficiency) {
  std::vector<double> knots{1}, ends = decode_bends(layer);
  knots.insert(knots.end(), ends.begin(), ends.end());
  constexpr double kFarAway = 1e9;  // tokens
  ends.insert(ends.begin(), 0);
  ends.push_back(kFarAway);
  for (std::size_t i = 1; i < ends.size(); ++i) {
    const double low = ends[i - 1], high = ends[i];
    const OperatorParts from = decode_operators(ops, layer, 1, low);
    const OperatorParts to = decode_operators(ops, layer, 1, high);
    for (std::size_t part = 0; part < from.size(); ++part) {
      const RooflineTimes a = operator_times(from[part], gpu, efficiency);
      const RooflineTimes b = operator_times(to[part], gpu, efficiency);
      const double first = a.memory_us - a.compute_us, last = b.memory_us - b.compute_us;
      if (first * last >= 0) continue;
      const double cross = low + (high - low) * first / (first - last);
      if (cross > 1) knots.push_back(cross);
    }
  }
  std::sort(knots.begin(), knots.end());
  return knots;
}

std::unique_ptr<StepPricer> make_roofline_pricer(const RankOperators& ops, const GpuSpec& gpu,
                                                 RooflineEfficiency efficiency) {
  return std::make_unique<RooflinePricer>(ops, gpu, efficiency);
}

std::unique_ptr<CostModel> make_lecture_roofline(const CostOptions& options) {
  // Checks that the model divides.
  rank_operators(options.model, options.precision, options.tensor_parallel_size,
                 options.pipeline_parallel_size);
  return std::make_unique<LectureRoofline>(options);
}

}  // namespace headway
