#include "sim/cost/roofline_cost.h"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"

namespace headway {
namespace {

constexpr double kUsPerSecond = 1e6;
constexpr Coverage kFrom = Coverage::kRoofline;

class RooflinePricer final : public StepPricer {
 public:
  RooflinePricer(const RankOperators& ops, const GpuSpec& gpu, RooflineEfficiency efficiency)
      : ops_(ops),
        gpu_(gpu),
        compute_(efficiency.compute),
        heads_(attention_widths(ops)),
        peak_(gpu.flops(ops.precision.weights, ops.precision.activations) * efficiency.compute),
        attention_peak_(gpu.flops(DType::kBf16, DType::kBf16) * efficiency.compute),
        bandwidth_(gpu.memory_bandwidth * efficiency.memory) {
    SIM_CHECK(peak_ > 0 && attention_peak_ > 0 && bandwidth_ > 0, gpu.name);
  }

  StepCost linear(std::int32_t tokens) const override {
    StepCost cost;
    if (tokens <= 0) return cost;
    double gemms = 0;
    for (const GemmSite& site : ops_.layer_gemms) {
      gemms += gemm_us(site, tokens);
    }
    if (ops_.is_moe()) gemms += roofline_us(experts_work(ops_, tokens), peak_, bandwidth_);
    const double layer_bytes = layer_elementwise_bytes(ops_, tokens);
    const double step_bytes = step_elementwise_bytes(ops_, tokens);
    add_cost(cost, OpClass::kLinear, gemms * ops_.layers, kFrom);
    add_cost(cost, OpClass::kElementwise,
             (layer_bytes * ops_.layers + step_bytes) / bandwidth_ * kUsPerSecond, kFrom);
    add_cost(cost, OpClass::kCommunication,
             link_all_reduce_us(ops_, gpu_, tokens) + pipeline_sends_us(ops_, gpu_, tokens), kFrom);
    return cost;
  }

  StepCost lm_head(std::int32_t sequences) const override {
    StepCost cost;
    if (sequences <= 0) return cost;
    add_cost(cost, OpClass::kLmHead, gemm_us(ops_.lm_head, sequences), kFrom);
    return cost;
  }

  Priced decode_attention(std::int32_t batch, double kv_tokens) const override {
    if (batch <= 0) return {0, kFrom};
    const Work work = decode_attention_work(heads_, batch, kv_tokens);
    return {ops_.layers * roofline_us(work, attention_peak_, bandwidth_), kFrom};
  }

  // Bends where the compute line crosses the memory line; both are straight in the KV length.
  std::vector<double> decode_knots(std::int32_t) const override {
    std::vector<double> knots{1};
    const Work fixed = decode_attention_work(heads_, 1, 0);
    const Work one = decode_attention_work(heads_, 1, 1);
    const double memory_slope = (one.bytes - fixed.bytes) / bandwidth_;
    const double compute_slope = one.flops / attention_peak_;
    if (compute_slope > memory_slope) {
      const double cross = fixed.bytes / bandwidth_ / (compute_slope - memory_slope);
      if (cross > 1) knots.push_back(cross);
    }
    return knots;
  }

  double decode_skew(std::int32_t) const override { return 0; }

  void add_prefill(const StepShape& shape, Priced decode, StepCost& cost) const override {
    Work work;  // the chunks are one call
    for (const PrefillChunk& chunk : shape.prefill) {
      const Work one = prefill_attention_work(heads_, 1, chunk.new_tokens, chunk.context_tokens);
      work.flops += one.flops;
      work.bytes += one.bytes;
    }
    add_cost(cost, OpClass::kPrefillAttention,
             ops_.layers * roofline_us(work, attention_peak_, bandwidth_), kFrom);
    add_cost(cost, OpClass::kDecodeAttention, decode.us, decode.from);
  }

  std::string describe() const override { return "roofline of " + gpu_.name; }

 private:
  double gemm_us(const GemmSite& site, double rows) const {
    const Precision own = gemm_precision(site, ops_.precision);
    return roofline_us(gemm_work(site, rows, ops_.precision),
                       gpu_.flops(own.weights, own.activations) * compute_, bandwidth_);
  }

  RankOperators ops_;
  GpuSpec gpu_;
  double compute_;
  AttentionWidths heads_;
  double peak_, attention_peak_, bandwidth_;
};

class LectureRoofline final : public CostModel {
 public:
  explicit LectureRoofline(const CostOptions& options)
      : name_(options.gpu.name),
        ranks_(options.tensor_parallel_size * options.pipeline_parallel_size),
        weight_bytes_(lecture_weight_bytes(options.model, options.precision)),
        weights_(weight_bytes_ / bytes_per_element(options.precision.weights)),
        kv_bytes_(kv_bytes_per_token(options.model, options.precision.kv)),
        pair_flops_(4.0 * options.model.num_hidden_layers() *
                    first_attention(options.model).heads * first_attention(options.model).head_dim),
        peak_(options.gpu.flops(options.precision.weights, options.precision.activations)),
        bandwidth_(options.gpu.memory_bandwidth) {}

  StepCost price(const StepShape& shape) const override {
    double kv_tokens = static_cast<double>(shape.decode_kv_tokens), pairs = kv_tokens;
    for (const PrefillChunk& chunk : shape.prefill) {
      const double c = chunk.new_tokens, h = chunk.context_tokens;
      kv_tokens += h + c;
      pairs += c * (h + c / 2);
    }
    const Work work{2 * weights_ * shape.tokens + pair_flops_ * pairs,
                    weight_bytes_ + kv_bytes_ * kv_tokens};
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
  std::string name_;
  double ranks_, weight_bytes_, weights_, kv_bytes_, pair_flops_, peak_, bandwidth_;
};

}  // namespace

double roofline_us(const Work& work, double peak_flops, double bandwidth) {
  return std::max(work.flops / peak_flops, work.bytes / bandwidth) * kUsPerSecond;
}

double link_all_reduce_us(const RankOperators& ops, const GpuSpec& gpu, double tokens) {
  const double p = ops.tensor_parallel;
  if (p <= 1 || gpu.link_bandwidth <= 0) return 0;
  const double bytes = 2 * (p - 1) / p * hidden_message_bytes(ops, tokens);
  return 2.0 * ops.layers * (bytes / gpu.link_bandwidth * kUsPerSecond + gpu.link_latency_us);
}

double pipeline_sends_us(const RankOperators& ops, const GpuSpec& gpu, double tokens) {
  if (ops.pipeline_parallel <= 1 || gpu.link_bandwidth <= 0) return 0;
  const double bytes = hidden_message_bytes(ops, tokens);
  return (ops.pipeline_parallel - 1) *
         (bytes / gpu.link_bandwidth * kUsPerSecond + gpu.link_latency_us);
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
