#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/kv/token_pool.h"
#include "sim/scheduling/sequence.h"
#include "sim/scheduling/sglang_batch.h"

namespace headway {

struct SglangPrefillLimits {
  std::int32_t max_prefill_tokens = 16384;  // a step, though its first prompt may be longer
  std::int32_t chunk_tokens = 8192;         // a step, prompts are cut there; 0 = never cut
  bool ignore_eos = true;                   // sequences that end by length are known to
};

// One round of admissions: SGLang v0.5.5.post3, managers/schedule_policy.py, class PrefillAdder.
//
// A newcomer must find room for its prompt and all the output that it may produce (at most 4096
// tokens of it), on top of what is reserved: for the running, what they may still produce times
// new_token_ratio; for those admitted in this round, prompt and output in full. A prompt that is
// cut reserves no output yet.
class SglangPrefill {
 public:
  enum class Verdict : std::uint8_t {
    kContinue,  // try the next one
    kNoToken,   // memory is spoken for
    kOther,     // the step is full
  };
  struct Pick {
    Sequence* sequence = nullptr;
    std::int32_t prefix_tokens = 0;  // stored already
    std::int32_t extend_tokens = 0;  // to be computed in the step
  };

  // mixed_decodes: decodes that will ride in the step. output_budget: output limit by slot.
  SglangPrefill(const SglangPrefillLimits& limits, TokenPool& pool, const SglangBatch& running,
                double new_token_ratio, std::int32_t mixed_decodes,
                const std::vector<std::int32_t>& output_budget);

  // Goes on with the sequence that was cut before. Picks nothing when there is no room for a token
  // (the engine would run out of memory).
  void resume(Sequence& chunked);
  // Tries to admit a waiting sequence; what is picked has its prefix locked.
  Verdict add(Sequence& sequence);

  const std::vector<Pick>& picks() const { return picks_; }
  std::int32_t extend_tokens() const { return extend_tokens_; }  // of all picks
  Sequence* cut() const { return cut_; }  // the pick whose prompt is not finished, if any

 private:
  double room() const;            // left after everything reserved
  std::int64_t room_now() const;  // left after what this step takes
  std::int32_t output_budget(const Sequence& s) const { return output_budget_[s.slot]; }
  bool ends_by_length(const Sequence& s) const {
    return limits_.ignore_eos && s.output_target >= s.max_tokens;
  }
  std::int32_t paged(std::int32_t tokens) const;
  Verdict state() const;
  void pick(Sequence& s, std::int32_t prefix, std::int32_t extend, std::int32_t reserved_output);
  Verdict add_reserving(Sequence& s);
  Verdict take(Sequence& s, const RadixCache::Match& prefix, std::int32_t extend);

  // The admission test of sequences that are known to end by length.
  Verdict add_simulating(Sequence& s);
  void note_future(const Sequence& s, bool keep_order);
  bool future_fits(std::int32_t extend) const;

  SglangPrefillLimits limits_;
  TokenPool& pool_;
  const SglangBatch& running_;
  double ratio_;
  const std::vector<std::int32_t>& output_budget_;

  double reserved_;            // tokens, until all admitted have ended
  std::int64_t reserved_now_;  // tokens, in this step
  std::int32_t prefill_left_;
  std::int32_t chunk_left_;  // if chunk_tokens > 0
  std::vector<Pick> picks_;
  std::int32_t extend_tokens_ = 0;
  Sequence* cut_ = nullptr;
  // (output tokens to come, tokens held then), in the order in which they end.
  std::optional<std::vector<std::pair<double, std::int32_t>>> futures_;
};

}  // namespace headway
