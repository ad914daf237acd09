#include "kernels/validate/forced_check.h"

#include <algorithm>
#include <set>

#include "kernels/engine/decoder.h"

namespace headway::kernels {
namespace {

// The whole text in one step, by itself; the rows that predict the answer are sampled.
StepInput alone(const Conversation& c, std::int32_t page_size) {
  StepInput step;
  std::vector<std::int32_t> text = c.prompt;
  text.insert(text.end(), c.answer.begin(), c.answer.end() - 1);
  const auto rows = static_cast<std::int32_t>(text.size());
  SequenceRows sequence{0, rows, 0, {}};
  for (std::int32_t p = 0; p < rows; ++p) {
    if (p % page_size == 0) sequence.pages.push_back(1 + p / page_size);
    step.tokens.push_back(text[static_cast<std::size_t>(p)]);
    step.positions.push_back(p);
    step.slots.push_back(std::int64_t{sequence.pages.back()} * page_size + p % page_size);
    if (p + 1 >= std::ssize(c.prompt)) step.sampled_rows.push_back(p);
  }
  step.sequences.push_back(std::move(sequence));
  return step;
}

}  // namespace

TokenCheck check_forced(const std::vector<Conversation>& conversations, EngineBackend& engine,
                        std::int32_t page_size) {
  TokenCheck check;
  check.rule = "by the answer's own logits, no token less likely than the best by more than " +
               std::to_string(kForcedTolerance).substr(0, 5) + ", what bf16 cannot tell apart";
  std::set<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>> seen;
  const auto vocab = static_cast<std::size_t>(engine.shape().vocab);
  check.all_answers = std::ssize(conversations);
  for (const Conversation& c : conversations) {
    if (seen.size() == kForcedAnswers) break;
    if (!seen.emplace(c.prompt, c.answer).second) continue;
    ++check.answers;
    check.tokens += std::ssize(c.answer);
    decode_step(engine, alone(c, page_size));
    const std::vector<float> logits = engine.logits();
    for (std::size_t i = 0; i < c.answer.size(); ++i) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i * vocab);
      const auto best = std::max_element(row, row + static_cast<std::ptrdiff_t>(vocab));
      if (best - row == c.answer[i]) continue;
      if (*(row + c.answer[i]) >= *best - kForcedTolerance) {
        ++check.near_ties;
        continue;
      }
      ++check.different;
      if (!check.first_difference.empty()) continue;
      check.first_difference =
          "request " + std::to_string(c.request) + ", token " + std::to_string(i) + ": logit " +
          std::to_string(*(row + c.answer[i])) + " below the best's " + std::to_string(*best);
    }
  }
  return check;
}

}  // namespace headway::kernels
