#include "kernels/engine/reference_decoder.h"

#include <cmath>
#include <numeric>

namespace headway::kernels {

ReferenceDecoder::ReferenceDecoder(std::shared_ptr<const CpuWeights> weights)
    : w_(std::move(weights)) {
  const LlamaShape& s = w_->shape;
  const auto floats = [](std::int32_t count) { return std::vector<float>(static_cast<std::size_t>(count)); };
  residual_ = floats(s.hidden);
  normed_ = floats(s.hidden);
  qkv_ = floats(s.qkv_width());
  attention_ = floats(s.q_width());
  delta_ = floats(s.hidden);
  gate_up_ = floats(2 * s.ffn);
  mlp_ = floats(s.ffn);
  logits_ = floats(s.vocab);
}

ReferenceDecoder::~ReferenceDecoder() = default;

void ReferenceDecoder::grow(std::int32_t tokens) {
  const LlamaShape& s = w_->shape;
  const cpu::KvLayout layout{s.kv_heads, s.head_dim, cpu::kPanel};
  pages_.resize(static_cast<std::size_t>((tokens + cpu::kPanel - 1) / cpu::kPanel));
  std::iota(pages_.begin(), pages_.end(), 0);
  layer_elements_ = layout.elements(std::ssize(pages_));
  keys_.assign(layer_elements_ * static_cast<std::size_t>(s.layers), 0);
  values_.assign(keys_.size(), 0);
  scratch_.resize(cpu::attention_scratch(tokens));
}

void ReferenceDecoder::feed(std::int32_t token, std::int32_t position) {
  const LlamaShape& s = w_->shape;
  const cpu::CpuOps& ops = cpu::cpu_ops();
  const cpu::KvLayout layout{s.kv_heads, s.head_dim, cpu::kPanel};
  const cpu::AttentionShape shape{s.heads, s.qkv_width(), s.q_width(),
                                  1 / std::sqrt(static_cast<float>(s.head_dim))};
  const std::vector<cpu::AttentionRows> alone{{0, 1, position, pages_.data()}};
  const std::int64_t slot = position;
  const auto product = [&](std::int32_t layer, Product p, const float* x, float* y) {
    const cpu::PackedWeights& w = w_->of(layer, p);
    ops.matmul(x, w.k, w, y, w.n, 1);
  };
  const auto norm = [&](std::int32_t index, float* delta) {
    ops.rmsnorm(delta != nullptr ? delta : residual_.data(),
                delta != nullptr ? residual_.data() : nullptr, w_->norm(index), normed_.data(), 1,
                s.hidden, kNormEpsilon);
  };
  ops.embed(w_->embedding.data(), &token, 1, s.hidden, residual_.data());
  for (std::int32_t layer = 0; layer < s.layers; ++layer) {
    const std::size_t at = layer_elements_ * static_cast<std::size_t>(layer);
    const cpu::KvCache cache{layout, keys_.data() + at, values_.data() + at};
    norm(2 * layer, layer == 0 ? nullptr : delta_.data());
    product(layer, Product::kQkv, normed_.data(), qkv_.data());
    ops.rope(qkv_.data(), s.qkv_width(), &position, 1, s.heads + s.kv_heads, s.head_dim,
             w_->rope.data());
    const float* k = qkv_.data() + s.q_width();
    ops.kv_write(k, k + s.kv_width(), s.qkv_width(), &slot, 1, cache);
    ops.attention(qkv_.data(), cache, alone, shape, attention_.data(), scratch_.data());
    product(layer, Product::kO, attention_.data(), delta_.data());
    norm(2 * layer + 1, delta_.data());
    product(layer, Product::kGateUp, normed_.data(), gate_up_.data());
    ops.silu_mul(gate_up_.data(), mlp_.data(), 1, s.ffn);
    product(layer, Product::kDown, mlp_.data(), delta_.data());
  }
}

// Consumes the residual of the token that was fed last.
void ReferenceDecoder::head() {
  const LlamaShape& s = w_->shape;
  const cpu::CpuOps& ops = cpu::cpu_ops();
  ops.rmsnorm(delta_.data(), residual_.data(), w_->norm(2 * s.layers), normed_.data(), 1, s.hidden,
              kNormEpsilon);
  ops.matmul(normed_.data(), s.hidden, w_->lm_head, logits_.data(), s.vocab, 1);
}

std::vector<std::int32_t> ReferenceDecoder::generate(std::span<const std::int32_t> prompt,
                                                     std::int32_t count) {
  grow(static_cast<std::int32_t>(prompt.size()) + count);
  std::int32_t position = 0;
  for (const std::int32_t token : prompt) feed(token, position++);
  std::vector<std::int32_t> answer;
  for (;;) {
    head();
    std::int32_t token = 0;
    cpu::cpu_ops().argmax(logits_.data(), 1, w_->shape.vocab, &token);
    answer.push_back(token);
    if (static_cast<std::int32_t>(answer.size()) == count) return answer;
    feed(token, position++);
  }
}

std::vector<float> ReferenceDecoder::logits_after(std::span<const std::int32_t> text) {
  grow(static_cast<std::int32_t>(text.size()));
  std::int32_t position = 0;
  for (const std::int32_t token : text) feed(token, position++);
  head();
  return logits_;
}

}  // namespace headway::kernels
