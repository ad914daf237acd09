// Stage 2 of trtllm: which of the fitting requests run in this step, and with how many tokens.
#include <algorithm>

#include "sim/scheduling/trtllm.h"

namespace headway {

const Sequence* Trtllm::choose_batch() {
  contexts_.clear();
  chunks_.clear();
  generations_.clear();
  const bool chunking = options_.chunking != ContextChunking::kOff;
  std::int32_t tokens_left = options_.max_num_tokens - static_cast<std::int32_t>(together_);
  std::int64_t wanted = 0;  // by prompts that may be cut
  bool all_fit = true;
  std::int64_t visited = together_;
  std::size_t i = 0;
  for (; i < fitting_.size(); ++i) {
    Sequence* s = fitting_[i];
    if (in_flight(*s)) continue;
    if (visited >= options_.max_batch_size) break;
    if (generating(*s)) {
      if (1 + drafts(*s) > tokens_left) break;
      tokens_left -= 1 + drafts(*s);
      generations_.push_back(s);
    } else {
      const std::int32_t remaining = prompt_length(*s) - s->computed_tokens;
      const std::int32_t tokens = remaining + drafts(*s);
      if (!chunking && tokens > tokens_left) break;
      if (chunking) {
        all_fit = all_fit && tokens <= options_.max_context_length;
        wanted += std::min(tokens, options_.max_context_length);
      } else {
        tokens_left -= tokens;
      }
      contexts_.push_back(s);
      chunks_.push_back({.remaining = remaining, .drafts = drafts(*s), .size = remaining});
    }
    ++visited;
  }
  if (!all_fit || wanted > tokens_left) {
    size_chunks(options_.chunking,
                {.capacity = tokens_left,
                 .longest = options_.max_context_length,
                 .unit = options_.chunk_unit_size},
                chunks_);
  }
  return i < fitting_.size() ? fitting_[i] : nullptr;
}

}  // namespace headway
