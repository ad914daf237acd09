#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/engine/llama.h"

namespace headway::kernels {

// One sequence's part in a step.
struct SequenceRows {
  std::int32_t first_row = 0, count = 0;  // rows of the step
  std::int32_t context = 0;               // tokens whose KV was there before
  std::vector<std::int32_t> pages;        // ids, enough for context + count tokens
};

// A step as the kernels see it. Row i is token tokens[i] at positions[i]; its KV goes to slots[i] =
// page * page_size + place.
struct StepInput {
  std::vector<std::int32_t> tokens, positions;
  std::vector<std::int64_t> slots;
  std::vector<SequenceRows> sequences;
  std::vector<std::int32_t> sampled_rows;  // whose next token is wanted

  std::int32_t rows() const { return static_cast<std::int32_t>(tokens.size()); }
  void clear() {
    tokens.clear();
    positions.clear();
    slots.clear();
    sequences.clear();
    sampled_rows.clear();
  }
};

// A device with one model's weights, its KV pages and room for one step's activations. The calls
// are the operators of a decoder in the order that decoder.h gives them; they may be queued, and
// finish() waits. Weights are random (llama.h).
//
// The activations: residual [rows][hidden], normed, qkv, attention, delta (what O and down yield
// and the next norm adds to the residual), gate_up, mlp, logits.
class EngineBackend {
 public:
  virtual ~EngineBackend() = default;
  virtual const LlamaShape& shape() const = 0;
  virtual std::string describe() const = 0;

  virtual void begin(const StepInput& step) = 0;  // brings tokens, positions, page tables over
  virtual void embed() = 0;                       // residual = rows of the embedding
  // `add_delta`: residual += delta first. normed = norm(residual).
  virtual void norm(std::int32_t layer, bool second, bool add_delta) = 0;
  virtual void final_norm() = 0;                                 // adds delta as well
  virtual void linear(std::int32_t layer, Product product) = 0;  // of a layer
  virtual void rope() = 0;                                       // queries and keys within qkv
  virtual void kv_write(std::int32_t layer) = 0;
  virtual void attention(std::int32_t layer) = 0;
  virtual void silu_mul() = 0;
  virtual void lm_head() = 0;  // logits of the sampled rows
  virtual void sample() = 0;   // the likeliest token of each
  // Waits; the sampled tokens, in the order of sampled_rows. Valid until the next begin().
  virtual std::span<const std::int32_t> finish() = 0;
  // For tests and for the teacher-forced check: logits of the sampled rows, [sampled][vocab].
  virtual std::vector<float> logits() = 0;
};

struct BackendOptions {
  std::int64_t pages = 0;
  std::int32_t page_size = 16;
  std::int32_t max_rows = 0;     // tokens of a step, as far as is known
  std::int32_t max_sampled = 0;  // of them, rows whose logits are wanted
  std::uint64_t seed = 0;
};

}  // namespace headway::kernels
