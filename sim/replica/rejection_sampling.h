#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/core/random.h"

namespace headway {

// The exact speculative sampling algorithm (Leviathan, Kalman, Matias, ICML 2023; Chen et al. 2023),
// on real probability vectors. The simulator draws how many drafts are accepted; this says why that
// number is what it is, and that the output is distributed exactly as the target's.
//
// Distributions are vectors over the vocabulary that sum to 1.

// softmax(logits / temperature); temperature 0 puts everything on the largest logit (the first of equals).
std::vector<double> softmax(std::span<const double> logits, double temperature);

// Index drawn from a distribution.
std::int32_t draw(std::span<const double> distribution, RandomStream& random);

// The probability that a token drafted from `draft` is accepted under `target`:
// sum over tokens of min(draft, target), the overlap of the two.
double acceptance_probability(std::span<const double> draft, std::span<const double> target);

// One drafted token: accepted with probability min(1, target / draft), else replaced by a draw from
// max(target - draft, 0), normalised. The returned token is distributed as `target`.
struct TokenVerdict {
  bool accepted;
  std::int32_t token;
};
TokenVerdict verify_token(std::int32_t drafted, std::span<const double> draft,
                      std::span<const double> target, RandomStream& random);

// A whole verification of k drafts: the accepted prefix, then the correction, or the bonus token when
// all were accepted. draft[i] and target[i] are the distributions at position i given the drafts
// before it; target has one more, for the bonus. 1 to k + 1 tokens come out.
std::vector<std::int32_t> verify(std::span<const std::int32_t> drafted,
                                 std::span<const std::vector<double>> draft,
                                 std::span<const std::vector<double>> target, RandomStream& random);

}  // namespace headway
