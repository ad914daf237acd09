#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/engine/backend.h"

namespace headway::kernels {

// A sequence that wants drafts: its text so far, of which the last token has no KV yet, and the
// pages that hold the others' KV with room for `room` tokens in all.
struct DraftRequest {
  std::span<const std::int32_t> text;
  std::span<const std::int32_t> pages;
  std::int32_t room = 0;
};

// Guesses the next tokens of each sequence. Any guess is right: what the target would not have said
// itself is thrown away.
class Drafter {
 public:
  virtual ~Drafter() = default;
  // Up to `count` drafts each, in the order of the requests.
  virtual std::vector<std::vector<std::int32_t>> propose(std::span<const DraftRequest> requests,
                                                         std::int32_t count) = 0;
};

// Prompt look-up: the longest suffix of 2 to 4 tokens that occurred before in the text, at its
// latest occurrence; the tokens that followed it there. Free of kernels.
std::unique_ptr<Drafter> make_ngram_drafter();

// The target's own first `layers` layers and its LM head. They read the target's KV of those
// layers, which is theirs as well, and write the drafts' KV where verification will write the same.
std::unique_ptr<Drafter> make_layer_drafter(EngineBackend& backend, std::int32_t layers,
                                            std::int32_t page_size);

}  // namespace headway::kernels
