#pragma once

// The engine's backend on the kernels of kernels/ops: bf16 throughout, compiled by nvcc for a GPU
// and by the host compiler for the emulator, which runs a tiny model in the tests. What the two do
// not share, products and where random weights come from, is a DeviceServices.
//
// Rows of a step are put in the order that the attention kernels want, sequences of one query
// first, when the step begins; everything a step needs of the host crosses in one copy.
#define HEADWAY_LAUNCHERS_ONLY 1
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/engine/backend.h"
#include "kernels/engine/device_step.cuh"
#include "kernels/ops/device_limits.h"
#include "kernels/ops/kv_write.cuh"
#include "kernels/ops/paged_decode_attention.cuh"
#include "kernels/ops/prefill_attention.cuh"
#include "kernels/ops/rmsnorm.cuh"
#include "kernels/ops/rope.cuh"
#include "kernels/ops/sampling.cuh"
#include "kernels/ops/silu_mul.cuh"
#include "kernels/rt/rt.h"
#include "sim/core/errors.h"

namespace headway::kernels {

class DeviceServices {
 public:
  virtual ~DeviceServices() = default;
  virtual std::string describe() const = 0;
  // mean + deviation * normal values, a function of the seed.
  virtual void fill(DeviceBuffer<bf16>& buffer, std::uint64_t seed, float mean,
                    float deviation) = 0;
  // y[m][n] = x[m][k] W[n][k]^T
  virtual void product(std::int64_t m, std::int64_t n, std::int64_t k, const bf16* x, const bf16* w,
                       bf16* y, Stream stream) = 0;
};

class DeviceBackend final : public EngineBackend {
 public:
  DeviceBackend(const LlamaShape& shape, std::uint64_t seed, const BackendOptions& o,
                std::unique_ptr<DeviceServices> services)
      : s_(shape),
        page_size_(o.page_size),
        services_(std::move(services)),
        limits_(device_limits()) {
    if (s_.head_dim != 64 && s_.head_dim != 128) {
      throw InputError({"", "model", "heads of " + std::to_string(s_.head_dim),
                        "heads of 64 or 128, which the attention kernels have"});
    }
    make_weights(seed);
    const auto tokens = static_cast<std::size_t>(o.pages) * static_cast<std::size_t>(page_size_);
    for (std::int32_t layer = 0; layer < s_.layers; ++layer) {
      keys_.emplace_back(tokens * size(s_.kv_width()));
      values_.emplace_back(tokens * size(s_.kv_width()));
    }
    make_room(o.max_rows, o.max_sampled);
  }

  const LlamaShape& shape() const override { return s_; }
  std::string describe() const override { return services_->describe(); }

  void begin(const StepInput& step) override {
    rows_ = step.rows();
    sampled_ = static_cast<std::int32_t>(step.sampled_rows.size());
    make_room(rows_, sampled_);
    order_rows(step);
    std::vector<std::int32_t> tokens, positions, slots, sampled;
    std::vector<std::int32_t> place(size(rows_));
    for (std::int32_t i = 0; i < rows_; ++i) {
      const std::size_t from = size(order_[size(i)]);
      place[from] = i;
      tokens.push_back(step.tokens[from]);
      positions.push_back(step.positions[from]);
      slots.push_back(static_cast<std::int32_t>(step.slots[from]));
    }
    for (const std::int32_t row : step.sampled_rows) sampled.push_back(place[size(row)]);
    integers_.clear();
    tokens_at_ = integers_.add(tokens);
    positions_at_ = integers_.add(positions);
    slots_at_ = integers_.add(slots);
    sampled_at_ = integers_.add(sampled);
    plan_decode(step);
    plan_prefill(step);
    integers_.upload();
  }

  void embed() override {
    copy_rows({residual_.data(), embedding_.data(), integers_.at(tokens_at_), s_.hidden, rows_,
               s_.hidden},
              {});
  }
  void norm(std::int32_t layer, bool second, bool add_delta) override {
    norm_at(2 * layer + (second ? 1 : 0), add_delta);
  }
  void final_norm() override { norm_at(2 * s_.layers, true); }
  void linear(std::int32_t layer, Product product) override {
    const auto [from, to] = ends(product);
    const ProductSize z = product_size(s_, product);
    const auto& w = products_[size(layer * kLayerProducts + static_cast<int>(product))];
    services_->product(rows_, z.n, z.k, from, w.data(), to, {});
  }
  void rope() override {
    kernels::rope<bf16>(
        {qkv_.data(), qkv_.data() + s_.q_width(), integers_.at(positions_at_), rope_.data(), rows_,
         s_.heads, s_.kv_heads, s_.head_dim, s_.qkv_width(), s_.qkv_width()},
        {});
    // The attention kernels want the queries packed.
    copy_rows({q_.data(), qkv_.data(), nullptr, s_.qkv_width(), rows_, s_.q_width()}, {});
  }
  void kv_write(std::int32_t layer) override {
    const bf16* k = qkv_.data() + s_.q_width();
    kernels::kv_write<bf16>({k, k + s_.kv_width(), integers_.at(slots_at_), cache(layer), rows_,
                             s_.kv_width(), s_.qkv_width()},
                            {});
  }
  void attention(std::int32_t layer) override {
    const float scale = 1 / std::sqrt(static_cast<float>(s_.head_dim));
    if (decodes_ > 0) {
      PagedDecodeArgs<bf16> a{attention_.data(), q_.data(), cache(layer), decodes_, 1,
                              s_.heads,          0,         scale,        split_};
      a.kv.page_table = integers_.at(decode_table_at_);
      a.kv.lengths = integers_.at(decode_lengths_at_);
      a.kv.max_pages = decode_pages_;
      a.split.items = reinterpret_cast<const SplitItem*>(integers_.at(split_items_at_));
      a.split.first_partial = integers_.at(first_partial_at_);
      a.split.out = partial_out_.data();
      a.split.lse = partial_lse_.data();
      launch_paged_decode(a, s_.head_dim, {});
    }
    if (prefills_ > 0) {
      const std::int64_t first = std::int64_t{decodes_} * s_.q_width();
      PrefillArgs<bf16> a{attention_.data() + first,
                          q_.data() + first,
                          cache(layer),
                          integers_.at(q_start_at_),
                          prefills_,
                          longest_chunk_,
                          s_.heads,
                          0,
                          scale};
      a.kv.page_table = integers_.at(prefill_table_at_);
      a.kv.lengths = integers_.at(prefill_lengths_at_);
      a.kv.max_pages = prefill_pages_;
      launch_prefill(a, s_.head_dim, {});
    }
  }
  void silu_mul() override {
    kernels::silu_mul<bf16>({gate_up_.data(), mlp_.data(), rows_, s_.ffn}, {});
  }
  void lm_head() override {
    copy_rows({gathered_.data(), normed_.data(), integers_.at(sampled_at_), s_.hidden, sampled_,
               s_.hidden},
              {});
    services_->product(sampled_, s_.vocab, s_.hidden, gathered_.data(), lm_head_.data(),
                       logits_.data(), {});
  }
  void sample() override {
    kernels::sample<bf16>({logits_.data(), temperature_.data(), top_k_.data(), top_p_.data(),
                           uniform_.data(), sampled_tokens_.data(), s_.vocab},
                          sampled_, {});
  }
  std::span<const std::int32_t> finish() override {
    device_synchronize();
    if (sampled_ == 0) return {};
    tokens_ = sampled_tokens_.download();
    return {tokens_.data(), size(sampled_)};
  }
  std::vector<float> logits() override {
    std::vector<float> out;
    const std::vector<bf16> all = logits_.download();
    for (std::size_t i = 0; i < size(sampled_) * size(s_.vocab); ++i) out.push_back(to_f(all[i]));
    return out;
  }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

  void make_weights(std::uint64_t seed) {
    const auto filled = [&](std::int64_t count, std::uint64_t s, float mean, float deviation) {
      DeviceBuffer<bf16> buffer(size(count));
      services_->fill(buffer, s, mean, deviation);
      return buffer;
    };
    const auto product = [&](Product p, std::int32_t layer) {
      const ProductSize z = product_size(s_, p);
      return filled(z.n * z.k, weight_seed(seed, p, layer), 0, product_deviation(s_, p));
    };
    embedding_ = filled(std::int64_t{s_.vocab} * s_.hidden, embedding_seed(seed), 0, 1);
    norms_ = filled(std::int64_t{s_.norms()} * s_.hidden, norm_seed(seed), 1, kNormDeviation);
    for (std::int32_t layer = 0; layer < s_.layers; ++layer) {
      for (int p = 0; p < kLayerProducts; ++p) {
        products_.push_back(product(static_cast<Product>(p), layer));
      }
    }
    lm_head_ = product(Product::kLmHead, 0);
    std::vector<float> table;
    for (std::int32_t p = 0; p < s_.max_positions; ++p) {
      for (const bool sines : {false, true}) {
        for (std::int32_t i = 0; i < s_.head_dim / 2; ++i) {
          const double angle = p * std::pow(kRopeTheta, -2.0 * i / s_.head_dim);
          table.push_back(static_cast<float>(sines ? std::sin(angle) : std::cos(angle)));
        }
      }
    }
    rope_ = DeviceBuffer<float>(table);
  }

  void make_room(std::int32_t rows, std::int32_t sampled) {
    if (rows > room_rows_) {
      room_rows_ = rows;
      const auto grow = [&](DeviceBuffer<bf16>& b, std::int32_t width) {
        b = DeviceBuffer<bf16>(size(rows) * size(width));
      };
      grow(residual_, s_.hidden);
      grow(normed_, s_.hidden);
      grow(delta_, s_.hidden);
      grow(qkv_, s_.qkv_width());
      grow(q_, s_.q_width());
      grow(attention_, s_.q_width());
      grow(gate_up_, 2 * s_.ffn);
      grow(mlp_, s_.ffn);
    }
    if (sampled > room_sampled_) {
      room_sampled_ = sampled;
      gathered_ = DeviceBuffer<bf16>(size(sampled) * size(s_.hidden));
      logits_ = DeviceBuffer<bf16>(size(sampled) * size(s_.vocab));
      sampled_tokens_ = DeviceBuffer<std::int32_t>(size(sampled));
      temperature_ = DeviceBuffer<float>(std::vector<float>(size(sampled), 0));  // greedy
      top_p_ = DeviceBuffer<float>(std::vector<float>(size(sampled), 1));
      top_k_ = DeviceBuffer<std::int32_t>(std::vector<std::int32_t>(size(sampled), 0));
      uniform_ = DeviceBuffer<std::uint32_t>(std::vector<std::uint32_t>(size(sampled), 0));
    }
  }

  // Rows of sequences with one query first, the others after them.
  void order_rows(const StepInput& step) {
    order_.clear();
    for (const bool chunks : {false, true}) {
      for (const SequenceRows& q : step.sequences) {
        if ((q.count != 1) != chunks) continue;
        for (std::int32_t i = 0; i < q.count; ++i) order_.push_back(q.first_row + i);
      }
    }
    SIM_CHECK(std::ssize(order_) == rows_);
  }

  // Page tables of equal length for all of them.
  static std::int32_t add_tables(const std::vector<const SequenceRows*>& group, StepIntegers& to,
                                 std::size_t& at) {
    std::size_t longest = 1;
    for (const SequenceRows* q : group) longest = std::max(longest, q->pages.size());
    std::vector<std::int32_t> table;
    for (const SequenceRows* q : group) {
      table.insert(table.end(), q->pages.begin(), q->pages.end());
      table.resize(table.size() + longest - q->pages.size(), 0);
    }
    at = to.add(table);
    return static_cast<std::int32_t>(longest);
  }

  std::vector<const SequenceRows*> group(const StepInput& step, bool chunks) const {
    std::vector<const SequenceRows*> out;
    for (const SequenceRows& q : step.sequences) {
      if (q.count > 0 && (q.count != 1) == chunks) out.push_back(&q);
    }
    return out;
  }

  void plan_decode(const StepInput& step) {
    const auto decodes = group(step, false);
    decodes_ = static_cast<std::int32_t>(decodes.size());
    if (decodes_ == 0) return;
    std::vector<std::int32_t> lengths;
    for (const SequenceRows* q : decodes) lengths.push_back(q->context + 1);
    decode_pages_ = add_tables(decodes, integers_, decode_table_at_);
    decode_lengths_at_ = integers_.add(lengths);
    const SplitPlan plan = plan_split_kv(lengths, 1, 0, decode_units(s_.heads, s_.kv_heads, 1),
                                         2 * limits_.multiprocessors, kDecodeTile);
    std::vector<std::int32_t> items;
    for (const SplitItem& i : plan.items) {
      items.insert(items.end(), {i.sequence, i.begin, i.end, i.partial});
    }
    split_items_at_ = integers_.add(items);
    first_partial_at_ = integers_.add(plan.first_partial);
    split_ = {};
    split_.item_count = static_cast<std::int32_t>(plan.items.size());
    split_.partial_count = plan.partial_count();
    const std::size_t partials = size(split_.partial_count) * size(s_.heads);
    if (partial_lse_.size() < partials) {
      partial_lse_ = DeviceBuffer<float>(2 * partials);
      partial_out_ = DeviceBuffer<float>(2 * partials * size(s_.head_dim));
    }
  }

  void plan_prefill(const StepInput& step) {
    const auto chunks = group(step, true);
    prefills_ = static_cast<std::int32_t>(chunks.size());
    longest_chunk_ = 0;
    if (prefills_ == 0) return;
    std::vector<std::int32_t> lengths, starts{0};
    for (const SequenceRows* q : chunks) {
      lengths.push_back(q->context + q->count);
      starts.push_back(starts.back() + q->count);
      longest_chunk_ = std::max(longest_chunk_, q->count);
    }
    prefill_pages_ = add_tables(chunks, integers_, prefill_table_at_);
    prefill_lengths_at_ = integers_.add(lengths);
    q_start_at_ = integers_.add(starts);
  }

  void norm_at(std::int32_t index, bool add_delta) {
    const bf16* weight = norms_.data() + std::int64_t{index} * s_.hidden;
    rmsnorm<bf16>(
        {add_delta ? delta_.data() : residual_.data(), add_delta ? residual_.data() : nullptr,
         weight, normed_.data(), rows_, s_.hidden, kNormEpsilon},
        {});
  }
  PagedKv<bf16> cache(std::int32_t layer) {
    PagedKv<bf16> kv;
    kv.k = keys_[size(layer)].data();
    kv.v = values_[size(layer)].data();
    kv.page_size = page_size_;
    kv.kv_heads = s_.kv_heads;
    return kv;
  }
  std::pair<const bf16*, bf16*> ends(Product product) {
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

  LlamaShape s_;
  std::int32_t page_size_;
  std::unique_ptr<DeviceServices> services_;
  DeviceLimits limits_;
  // Weights and cache.
  DeviceBuffer<bf16> embedding_, norms_, lm_head_;
  std::vector<DeviceBuffer<bf16>> products_, keys_, values_;
  DeviceBuffer<float> rope_;
  // Activations.
  std::int32_t room_rows_ = 0, room_sampled_ = 0;
  DeviceBuffer<bf16> residual_, normed_, delta_, qkv_, q_, attention_, gate_up_, mlp_, gathered_,
      logits_;
  DeviceBuffer<float> temperature_, top_p_, partial_out_, partial_lse_;
  DeviceBuffer<std::int32_t> top_k_, sampled_tokens_;
  DeviceBuffer<std::uint32_t> uniform_;
  // The step at hand.
  std::int32_t rows_ = 0, sampled_ = 0, decodes_ = 0, prefills_ = 0, longest_chunk_ = 0;
  std::int32_t decode_pages_ = 0, prefill_pages_ = 0;
  std::vector<std::int32_t> order_, tokens_;
  StepIntegers integers_;
  std::size_t tokens_at_ = 0, positions_at_ = 0, slots_at_ = 0, sampled_at_ = 0;
  std::size_t decode_table_at_ = 0, decode_lengths_at_ = 0, split_items_at_ = 0,
              first_partial_at_ = 0;
  std::size_t prefill_table_at_ = 0, prefill_lengths_at_ = 0, q_start_at_ = 0;
  SplitKv split_;
};

}  // namespace headway::kernels
