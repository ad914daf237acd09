#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace headway {

// The `speculation` block of a scenario: speculative decoding as a random process.
struct SpeculationOptions {
  std::string method;  // "" = off | ngram | eagle | mtp | medusa | draft_model
  std::int32_t num_speculative_tokens = 0;  // k, drafts a sequence and step (medusa: nodes of the tree)
  // One value: the conditional rate a of every position, so that E[accepted + 1] =
  // (1 - a^(k+1)) / (1 - a). Several: the unconditional, non-increasing rate of each position, as
  // vLLM reports it; positions beyond the vector are never accepted. A request whose trace row has
  // an acceptance_rate uses that instead, as a conditional rate.
  std::vector<double> acceptance;
  std::string acceptance_preset;    // a row of acceptance_presets(), instead of `acceptance`
  std::string draft_model;          // draft_model: catalogue name or path
  double draft_hit_rate = 1.0;      // ngram: share of steps in which a match yields drafts at all
  // k by the number of sequences in the step: rows [first, last, k], ascending; a batch between rows
  // keeps the previous row's k, one above all rows the last (vLLM main, 2026-05).
  std::vector<std::array<std::int32_t, 3>> num_speculative_tokens_per_batch_size;

  bool on() const { return !method.empty(); }
};

// A published per-position vector (schedulers differ in what they call acceptance; these are
// unconditional, as vLLM's spec_decode metrics define them).
struct AcceptancePreset {
  const char* name;
  const char* method;
  std::vector<double> rates;
  const char* source;
};
const std::vector<AcceptancePreset>& acceptance_presets();

// Checks and resolves the preset. InputError at `file`: speculation.KEY.
void resolve_speculation(SpeculationOptions& options, const std::string& file);

}  // namespace headway
