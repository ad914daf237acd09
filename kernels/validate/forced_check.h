#pragma once

#include <vector>

#include "kernels/validate/device.h"

namespace headway::kernels {

// Compares tokens where sums differ in the last bits of bf16 with how a batch is made up, so that a
// near tie may go either way and everything after it differs: each answer is run again by itself,
// prompt and answer at once (teacher forcing), and each of its tokens must have been, by those
// logits, as likely as the likeliest to within kForcedTolerance. The first kForcedAnswers different
// answers are compared (each takes a large copy of logits from a GPU). Uses pages 1, 2, ... of the
// engine, which must be idle.
TokenCheck check_forced(const std::vector<Conversation>& conversations, EngineBackend& engine,
                        std::int32_t page_size);

// Logits have a deviation of 1 here, and their largest lie near 4, where bf16 steps are 1 / 32: two
// steps for their own rounding, as much again for what 32 layers of bf16 add.
inline constexpr float kForcedTolerance = 0.125F;
inline constexpr std::size_t kForcedAnswers = 64;

}  // namespace headway::kernels
