#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/dtype.h"
#include "sim/model/model_spec.h"

namespace headway {

// How an engine lays out the memory of layers that keep different things of a sequence.
enum class KvRule : std::uint8_t {
  // vLLM's hybrid KV cache manager (v0.19; vllm/v1/core/kv_cache_utils.py, kv_cache_interface.py
  // and single_type_kv_cache_manager.py): layers of one kind form groups of equally many layers,
  // each with a block table of its own; all groups draw on one pool of blocks of equal bytes.
  //  - A group of full attention keeps every token; one of windowed attention frees the blocks that
  //    have left the window; one of recurrent layers has a block a sequence, whatever its length.
  //  - The layers of a group are as many as the rarest kind has; or, where the most frequent kind
  //    has fewer than 1.5 times as many, as that one has. Missing layers are padding.
  //  - Recurrent layers: the block size of attention becomes the multiple of 16 tokens with which a
  //    layer's block is no smaller than a state, which is padded to it. Kinds whose tokens are
  //    smaller get as many more tokens a block (the remainder is padding; vLLM refuses it).
  //  - Layers that all keep the same tokens form one group, however wide each is.
  // Of compressed layers vLLM's rule says nothing: here all kinds that keep the same tokens are one
  // group (compressed entries, windows, states), however many layers each has.
  kGroups,
  // One block table: every attention layer keeps every token (vLLM V0; SGLang with
  // disable_hybrid_swa_memory). States lie beside the blocks, a slot for each sequence that may
  // run. A model without attention has blocks that hold one sequence each.
  kAllTokens,
};

enum class KvKind : std::uint8_t { kFull, kWindow, kState };

// Layers that share a block table.
struct KvGroup {
  KvKind kind = KvKind::kFull;
  std::int32_t layers = 0;      // of the whole model, padding not counted
  std::int32_t window = 0;      // tokens that a query sees, itself included
  std::int32_t block_size = 0;  // tokens a block
  std::int32_t states = 1;      // blocks a sequence, of recurrent layers: one more a drafted token

  // Blocks that are free again once so many tokens are computed: the next query does not see them.
  std::int64_t skipped(std::int64_t computed) const {
    if (kind != KvKind::kWindow) return 0;
    return std::max<std::int64_t>(0, computed - window + 1) / block_size;
  }
  // Blocks of a table that reaches to `end`, those skipped included.
  std::int64_t reach(std::int64_t end) const {
    return kind == KvKind::kState ? states : (end + block_size - 1) / block_size;
  }
  // Blocks of a sequence in a step that begins with `computed` tokens and reaches to `end`.
  std::int64_t held(std::int64_t computed, std::int64_t end) const {
    return std::max<std::int64_t>(0, reach(end) - skipped(computed));
  }
  // No sequence of so many tokens, at most `step` of them computed at once, ever holds more (what
  // vLLM asks for at start-up).
  std::int64_t most(std::int64_t tokens, std::int64_t step) const {
    if (kind != KvKind::kWindow) return reach(tokens);
    return reach(std::min(window - 1 + step, tokens)) + 1;
  }
  // Where a window is a ring of blocks that are written again and again, rather than a table: it
  // holds the window and `more` tokens besides (vLLM 0.2's block_sliding_window; llama.cpp's cells
  // for windowed layers). Never less for more tokens.
  std::int64_t ring(std::int64_t tokens, std::int64_t more = 0) const {
    if (kind != KvKind::kWindow) return reach(tokens);
    return reach(std::min(tokens, window + more));
  }
  bool operator==(const KvGroup&) const = default;
};

// What one GPU (a rank of one pipeline stage) keeps of a sequence, in blocks.
struct KvLayout {
  std::vector<KvGroup> groups;    // by first layer; empty = one group of full attention
  std::int32_t block_size = 16;   // tokens; of the group whose blocks have fewest
  std::int64_t block_bytes = 0;   // of a block of one group, over its layers here
  std::int64_t state_bytes = 0;   // kAllTokens: of a sequence's states, beside the blocks
  std::int32_t padding_layers = 0;
  bool recurrent = false;         // some layer keeps a state, in blocks or beside them

  // Every block holds block_size tokens, and a sequence keeps all of its tokens.
  bool plain() const {
    return groups.empty() || (groups.size() == 1 && groups[0].kind == KvKind::kFull);
  }
  // A block is a sequence's states, whatever its length (kAllTokens, a model without attention).
  bool block_a_sequence() const { return recurrent && plain() && state_bytes == 0; }
  // Sums over the groups: what KvGroup has of each. Of a plain layout without groups, too.
  std::int64_t held(std::int64_t computed, std::int64_t end) const;
  std::int64_t most(std::int64_t tokens, std::int64_t step) const;
  std::int64_t ring(std::int64_t tokens, std::int64_t more = 0) const;
  // Least blocks with which a sequence gets to so many tokens, however small its steps.
  std::int64_t least(std::int64_t tokens) const {
    return held(std::max<std::int64_t>(0, tokens - 1), tokens);
  }
  // Tokens of the group whose blocks have most; every group's block size divides it.
  std::int32_t period() const;
};

struct KvLayoutOptions {
  KvRule rule = KvRule::kGroups;
  DType kv = DType::kBf16;
  std::int32_t tensor_parallel_size = 1;
  std::int32_t block_size = 16;      // tokens, as the engine is told
  std::int32_t max_model_len = 0;    // tokens; a block of a model without attention (kAllTokens)
  std::int32_t drafted_tokens = 0;   // by speculative decoding, a step
};

// Of the layers [first_layer, first_layer + layers) of the model; the groups are those of the whole
// model. Heads and states are divided over the tensor-parallel ranks, a latent (MLA) and an
// indexer's keys are kept whole on each. A layer that reads another one's cache keeps nothing.
KvLayout kv_layout(const ModelSpec& model, const KvLayoutOptions& options, std::int32_t first_layer,
                   std::int32_t layers);
// Of all layers.
KvLayout kv_layout(const ModelSpec& model, const KvLayoutOptions& options);
// "10 layers keep all tokens, 52 the last 1024: 7 groups, blocks of 16 tokens". Empty where every
// layer keeps all tokens.
std::string describe(const KvLayout& layout);

}  // namespace headway
