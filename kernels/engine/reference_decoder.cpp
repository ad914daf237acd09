#include "kernels/engine/reference_decoder.h"

#include <cmath>
#include <numeric>

namespace headway::kernels {

ReferenceDecoder::ReferenceDecoder(std::shared_ptr<const CpuWeights> weights)
    : w_(std::move(weights)) {}

ReferenceDecoder::~ReferenceDecoder() = default;

// Room for a text of so many tokens, of which so many are fed at once.
void ReferenceDecoder::begin(std::int32_t tokens, std::int32_t rows) {
  const LlamaShape& s = w_->shape;
  const cpu::KvLayout layout{s.kv_heads, s.head_dim, cpu::kPanel};
  pages_.resize(static_cast<std::size_t>((tokens + cpu::kPanel - 1) / cpu::kPanel));
  std::iota(pages_.begin(), pages_.end(), 0);
  layer_elements_ = layout.elements(std::ssize(pages_));
  keys_.assign(layer_elements_ * static_cast<std::size_t>(s.layers), 0);
  values_.assign(keys_.size(), 0);
  scratch_.resize(cpu::attention_scratch(tokens));
  const auto room = [&](std::vector<float>& buffer, std::int32_t width) {
    buffer.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(width));
  };
  room(residual_, s.hidden);
  room(normed_, s.hidden);
  room(delta_, s.hidden);
  room(qkv_, s.qkv_width());
  room(attention_, s.q_width());
  room(gate_up_, 2 * s.ffn);
  room(mlp_, s.ffn);
  logits_.resize(static_cast<std::size_t>(s.vocab));
}

void ReferenceDecoder::feed(std::span<const std::int32_t> tokens, std::int32_t first) {
  const LlamaShape& s = w_->shape;
  const cpu::CpuOps& ops = cpu::cpu_ops();
  const auto rows = static_cast<std::int32_t>(tokens.size());
  const cpu::KvLayout layout{s.kv_heads, s.head_dim, cpu::kPanel};
  const cpu::AttentionShape shape{s.heads, s.qkv_width(), s.q_width(),
                                  1 / std::sqrt(static_cast<float>(s.head_dim))};
  const std::vector<cpu::AttentionRows> alone{{0, rows, first, pages_.data()}};
  std::vector<std::int32_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), first);
  const std::vector<std::int64_t> slots(positions.begin(), positions.end());
  const auto product = [&](std::int32_t layer, Product p, const float* x, float* y) {
    const cpu::PackedWeights& w = w_->of(layer, p);
    ops.matmul(x, w.k, w, y, w.n, rows);
  };
  const auto norm = [&](std::int32_t index, const float* delta) {
    ops.rmsnorm(delta != nullptr ? delta : residual_.data(),
                delta != nullptr ? residual_.data() : nullptr, w_->norm(index), normed_.data(),
                rows, s.hidden, kNormEpsilon);
  };
  ops.embed(w_->embedding.data(), tokens.data(), rows, s.hidden, residual_.data());
  for (std::int32_t layer = 0; layer < s.layers; ++layer) {
    const std::size_t at = layer_elements_ * static_cast<std::size_t>(layer);
    const cpu::KvCache cache{layout, keys_.data() + at, values_.data() + at};
    norm(2 * layer, layer == 0 ? nullptr : delta_.data());
    product(layer, Product::kQkv, normed_.data(), qkv_.data());
    ops.rope(qkv_.data(), s.qkv_width(), positions.data(), rows, s.heads + s.kv_heads, s.head_dim,
             w_->rope.data());
    const float* k = qkv_.data() + s.q_width();
    ops.kv_write(k, k + s.kv_width(), s.qkv_width(), slots.data(), rows, cache);
    ops.attention(qkv_.data(), cache, alone, shape, attention_.data(), scratch_.data());
    product(layer, Product::kO, attention_.data(), delta_.data());
    norm(2 * layer + 1, delta_.data());
    product(layer, Product::kGateUp, normed_.data(), gate_up_.data());
    ops.silu_mul(gate_up_.data(), mlp_.data(), rows, s.ffn);
    product(layer, Product::kDown, mlp_.data(), delta_.data());
  }
  norm(2 * s.layers, delta_.data());
  last_row_ = tokens.size() - 1;
}

void ReferenceDecoder::head() {
  const LlamaShape& s = w_->shape;
  cpu::cpu_ops().matmul(normed_.data() + last_row_ * static_cast<std::size_t>(s.hidden), s.hidden,
                        w_->lm_head, logits_.data(), s.vocab, 1);
}

std::vector<std::int32_t> ReferenceDecoder::generate(std::span<const std::int32_t> prompt,
                                                     std::int32_t count) {
  const auto length = static_cast<std::int32_t>(prompt.size());
  begin(length + count, length);
  feed(prompt, 0);
  std::vector<std::int32_t> answer;
  for (;;) {
    head();
    std::int32_t token = 0;
    cpu::cpu_ops().argmax(logits_.data(), 1, w_->shape.vocab, &token);
    answer.push_back(token);
    if (static_cast<std::int32_t>(answer.size()) == count) return answer;
    feed({&token, 1}, length + static_cast<std::int32_t>(answer.size()) - 1);
  }
}

std::vector<float> ReferenceDecoder::logits_after(std::span<const std::int32_t> text) {
  const auto length = static_cast<std::int32_t>(text.size());
  begin(length, length);
  feed(text, 0);
  head();
  return logits_;
}

}  // namespace headway::kernels
