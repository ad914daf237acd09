#include "kernels/engine/cpu_backend.h"

#include <cmath>
#include <utility>

#include "kernels/cpu/random_data.h"
#include "sim/core/errors.h"

namespace headway::kernels {
namespace {

using cpu::Bf16;

std::vector<Bf16> random_rows(std::int64_t count, std::uint64_t seed, float deviation) {
  std::vector<Bf16> rows(static_cast<std::size_t>(count));
  cpu::NormalValues(seed, deviation).fill(rows);
  return rows;
}

cpu::PackedWeights random_product(const LlamaShape& shape, Product product, std::int32_t layer,
                                  std::uint64_t seed) {
  const ProductSize size = product_size(shape, product);
  return cpu::pack_weights(random_rows(size.n * size.k, weight_seed(seed, product, layer),
                                       product_deviation(shape, product)),
                           size.n, size.k);
}

class CpuBackend final : public EngineBackend {
 public:
  CpuBackend(std::shared_ptr<const CpuWeights> weights, const BackendOptions& o)
      : w_(std::move(weights)), s_(w_->shape), ops_(cpu::cpu_ops()) {
    SIM_CHECK(o.page_size % cpu::kPanel == 0 && o.pages > 0);
    layout_ = {s_.kv_heads, s_.head_dim, o.page_size};
    const std::size_t layer = layout_.elements(o.pages);
    keys_.assign(layer * s_.layers, 0);
    values_.assign(layer * s_.layers, 0);
    layer_elements_ = layer;
    make_room(o.max_rows, o.max_sampled);
    scratch_.resize(cpu::attention_scratch(s_.max_positions));
  }

  const LlamaShape& shape() const override { return s_; }
  std::string describe() const override { return std::string("cpu, ") + ops_.isa; }

  void begin(const StepInput& step) override {
    make_room(step.rows(), static_cast<std::int32_t>(step.sampled_rows.size()));
    step_ = &step;
    sequences_.clear();
    for (const SequenceRows& rows : step.sequences) {
      sequences_.push_back({rows.first_row, rows.count, rows.context, rows.pages.data()});
    }
    tokens_.resize(step.sampled_rows.size());
  }
  void embed() override {
    ops_.embed(w_->embedding.data(), step_->tokens.data(), step_->rows(), s_.hidden,
               residual_.data());
  }
  void norm(std::int32_t layer, bool second, bool add_delta) override {
    norm_at(2 * layer + (second ? 1 : 0), add_delta);
  }
  void final_norm() override { norm_at(2 * s_.layers, true); }
  void linear(std::int32_t layer, Product product) override {
    const auto [from, to] = ends(product);
    const cpu::PackedWeights& w = w_->of(layer, product);
    ops_.matmul(from, w.k, w, to, w.n, step_->rows());
  }
  void rope() override {
    ops_.rope(qkv_.data(), s_.qkv_width(), step_->positions.data(), step_->rows(),
              s_.heads + s_.kv_heads, s_.head_dim, w_->rope.data());
  }
  void kv_write(std::int32_t layer) override {
    const float* k = qkv_.data() + s_.q_width();
    ops_.kv_write(k, k + s_.kv_width(), s_.qkv_width(), step_->slots.data(), step_->rows(),
                  cache(layer));
  }
  void attention(std::int32_t layer) override {
    const cpu::AttentionShape shape{s_.heads, s_.qkv_width(), s_.q_width(),
                                    1 / std::sqrt(static_cast<float>(s_.head_dim))};
    ops_.attention(qkv_.data(), cache(layer), sequences_, shape, attention_.data(),
                   scratch_.data());
  }
  void silu_mul() override { ops_.silu_mul(gate_up_.data(), mlp_.data(), step_->rows(), s_.ffn); }
  void lm_head() override {
    float* to = gathered_.data();
    for (const std::int32_t row : step_->sampled_rows) {
      const float* from = normed_.data() + static_cast<std::size_t>(row) * s_.hidden;
      to = std::copy(from, from + s_.hidden, to);
    }
    ops_.matmul(gathered_.data(), s_.hidden, w_->lm_head, logits_.data(), s_.vocab,
                std::ssize(step_->sampled_rows));
  }
  void sample() override {
    ops_.argmax(logits_.data(), std::ssize(tokens_), s_.vocab, tokens_.data());
  }
  std::span<const std::int32_t> finish() override { return tokens_; }
  std::vector<float> logits() override {
    return {logits_.begin(),
            logits_.begin() + static_cast<std::ptrdiff_t>(tokens_.size()) * s_.vocab};
  }

 private:
  void norm_at(std::int32_t index, bool add_delta) {
    if (add_delta) {
      ops_.rmsnorm(delta_.data(), residual_.data(), w_->norm(index), normed_.data(), step_->rows(),
                   s_.hidden, kNormEpsilon);
    } else {
      ops_.rmsnorm(residual_.data(), nullptr, w_->norm(index), normed_.data(), step_->rows(),
                   s_.hidden, kNormEpsilon);
    }
  }
  // Policies without a token budget now and then make a step larger than was foreseen.
  void make_room(std::int32_t rows, std::int32_t sampled) {
    if (rows > max_rows_) {
      max_rows_ = rows;
      const auto grow = [&](std::vector<float>& buffer, std::int32_t width) {
        buffer.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(width));
      };
      grow(residual_, s_.hidden);
      grow(normed_, s_.hidden);
      grow(delta_, s_.hidden);
      grow(qkv_, s_.qkv_width());
      grow(attention_, s_.q_width());
      grow(gate_up_, 2 * s_.ffn);
      grow(mlp_, s_.ffn);
    }
    if (sampled > max_sampled_) {
      max_sampled_ = sampled;
      gathered_.resize(static_cast<std::size_t>(sampled) * static_cast<std::size_t>(s_.hidden));
      logits_.resize(static_cast<std::size_t>(sampled) * static_cast<std::size_t>(s_.vocab));
    }
  }
  cpu::KvCache cache(std::int32_t layer) {
    const std::size_t at = layer_elements_ * static_cast<std::size_t>(layer);
    return {layout_, keys_.data() + at, values_.data() + at};
  }
  std::pair<const float*, float*> ends(Product product) {
    switch (product) {
      case Product::kQkv:
        return {normed_.data(), qkv_.data()};
      case Product::kO:
        return {attention_.data(), delta_.data()};
      case Product::kGateUp:
        return {normed_.data(), gate_up_.data()};
      default:
        return {mlp_.data(), delta_.data()};
    }
  }

  std::shared_ptr<const CpuWeights> w_;
  LlamaShape s_;
  const cpu::CpuOps& ops_;
  std::int32_t max_rows_ = 0, max_sampled_ = 0;
  cpu::KvLayout layout_;
  std::size_t layer_elements_ = 0;
  std::vector<Bf16> keys_, values_;  // [layer][pages]
  std::vector<float> residual_, normed_, delta_, qkv_, attention_, gate_up_, mlp_, gathered_,
      logits_, scratch_;
  std::vector<cpu::AttentionRows> sequences_;
  std::vector<std::int32_t> tokens_;
  const StepInput* step_ = nullptr;
};

}  // namespace

double CpuWeights::bytes() const {
  double elements = static_cast<double>(lm_head.panels.size());
  for (const cpu::PackedWeights& p : products) elements += static_cast<double>(p.panels.size());
  return elements * sizeof(Bf16);
}

std::shared_ptr<const CpuWeights> make_cpu_weights(const LlamaShape& shape, std::uint64_t seed) {
  auto w = std::make_shared<CpuWeights>();
  w->shape = shape;
  w->embedding = random_rows(std::int64_t{shape.vocab} * shape.hidden, embedding_seed(seed), 1);
  cpu::NormalValues random(norm_seed(seed), kNormDeviation);
  w->norms.resize(static_cast<std::size_t>(shape.norms()) * static_cast<std::size_t>(shape.hidden));
  for (Bf16& n : w->norms) n = cpu::narrow(1 + random.next());
  for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
    for (int p = 0; p < kLayerProducts; ++p) {
      w->products.push_back(random_product(shape, static_cast<Product>(p), layer, seed));
    }
  }
  w->lm_head = random_product(shape, Product::kLmHead, 0, seed);
  w->rope = cpu::rope_table(shape.max_positions, shape.head_dim, kRopeTheta);
  return w;
}

std::unique_ptr<EngineBackend> make_cpu_backend(std::shared_ptr<const CpuWeights> weights,
                                                const BackendOptions& options) {
  return std::make_unique<CpuBackend>(std::move(weights), options);
}

}  // namespace headway::kernels
