#include "sim/replica/speculation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/hash.h"

namespace headway {
namespace {

constexpr std::uint64_t kAccept = hash_name("acceptance");
constexpr std::uint64_t kHit = hash_name("draft hit");

// Accepted prefix when every position is accepted with the same conditional rate.
std::int32_t geometric(double u, double rate, std::int32_t limit) {
  std::int32_t n = 0;
  for (double reach = rate; n < limit && u < reach; reach *= rate) ++n;
  return n;
}

void add_passes(StepCost& sum, const StepCost& pass, double passes) {
  sum.gpu_us += passes * pass.gpu_us;
  for (std::size_t i = 0; i < kCoverageKinds; ++i) sum.coverage_us[i] += passes * pass.coverage_us[i];
}

}  // namespace

double SpeculationStats::acceptance_rate() const {
  return drafted_tokens == 0 ? 0.0
                             : static_cast<double>(accepted_tokens) / static_cast<double>(drafted_tokens);
}

double SpeculationStats::mean_acceptance_length() const {
  return drafts == 0 ? 0.0 : 1.0 + static_cast<double>(accepted_tokens) / static_cast<double>(drafts);
}

std::vector<double> SpeculationStats::per_position() const {
  std::vector<double> rates;
  for (std::uint64_t n : accepted_at) {
    rates.push_back(static_cast<double>(n) / static_cast<double>(std::max<std::uint64_t>(drafts, 1)));
  }
  return rates;
}

void SpeculationStats::add(const SpeculationStats& other) {
  drafts += other.drafts;
  drafted_tokens += other.drafted_tokens;
  accepted_tokens += other.accepted_tokens;
  accepted_at.resize(std::max(accepted_at.size(), other.accepted_at.size()));
  for (std::size_t i = 0; i < other.accepted_at.size(); ++i) accepted_at[i] += other.accepted_at[i];
}

Speculation::Speculation(SpeculationOptions options, std::uint64_t seed,
                         std::shared_ptr<const CostModel> pass_cost)
    : options_(std::move(options)), seed_(mix64(seed)), pass_cost_(std::move(pass_cost)) {
  stats_.accepted_at.resize(static_cast<std::size_t>(options_.num_speculative_tokens));
}

double Speculation::uniform(const Sequence& sequence, std::uint64_t purpose) const {
  std::uint64_t token = combine64(sequence.request->id, static_cast<std::uint64_t>(sequence.output_tokens));
  if (sequence.sample != 0) token = combine64(token, static_cast<std::uint64_t>(sequence.sample));
  return static_cast<double>(combine64(seed_ ^ purpose, token) >> 11) * 0x1.0p-53;
}

std::int32_t Speculation::accepted(const Sequence& sequence, std::int32_t draft_tokens) {
  const double u = uniform(sequence, kAccept);
  std::int32_t n = 0;
  if (sequence.request->acceptance_rate >= 0.0F) {
    n = geometric(u, sequence.request->acceptance_rate, draft_tokens);
  } else if (options_.acceptance.size() == 1) {
    n = geometric(u, options_.acceptance.front(), draft_tokens);
  } else {
    // Exact for unconditional, non-increasing rates: P[n > i] = rate of position i.
    for (double rate : options_.acceptance) n += n < draft_tokens && u < rate;
  }
  ++stats_.drafts;
  stats_.drafted_tokens += static_cast<std::uint64_t>(draft_tokens);
  stats_.accepted_tokens += static_cast<std::uint64_t>(n);
  for (std::int32_t i = 0; i < n; ++i) ++stats_.accepted_at[static_cast<std::size_t>(i)];
  return n;
}

std::int32_t Speculation::drafts_for_batch(std::int32_t batch) const {
  const auto& rows = options_.num_speculative_tokens_per_batch_size;
  std::int32_t k = options_.num_speculative_tokens;
  if (rows.empty()) return k;
  for (const auto& [first, last, row_k] : rows) {
    if (batch < first) break;
    k = row_k;
  }
  return k;
}

std::int32_t Speculation::proposal(const Sequence& sequence, std::int32_t batch) const {
  if (options_.draft_hit_rate < 1.0 && uniform(sequence, kHit) >= options_.draft_hit_rate) return 0;
  return drafts_for_batch(batch);
}

StepCost Speculation::draft_cost(const StepShape& shape, std::int32_t sampling,
                                 StepShape& scratch) const {
  StepCost cost;
  const std::int32_t k = drafts_for_batch(shape.scheduled_sequences);
  if (pass_cost_ == nullptr || sampling == 0 || k == 0) return cost;
  if (options_.method == "medusa") {
    // Every head is one more language-model head over the sequences that sampled.
    scratch.clear();
    scratch.sampled_sequences = sampling;
    scratch.scheduled_sequences = sampling;
    add_passes(cost, pass_cost_->price(scratch), static_cast<double>(options_.acceptance.size()));
    return cost;
  }
  scratch = shape;
  scratch.sampled_sequences = sampling;
  add_passes(cost, pass_cost_->price(scratch), 1);
  if (k == 1) return cost;
  const double mean_kv = shape.decode_sequences > 0
                             ? static_cast<double>(shape.decode_kv_tokens) / shape.decode_sequences
                             : 1.0;
  scratch.clear();
  scratch.tokens = sampling;
  scratch.decode_sequences = sampling;
  scratch.decode_query_tokens = sampling;
  scratch.decode_kv_tokens = std::llround(mean_kv * sampling);
  scratch.decode_kv_max = std::max(shape.decode_kv_max, 1);
  scratch.sampled_sequences = sampling;
  scratch.scheduled_sequences = sampling;
  add_passes(cost, pass_cost_->price(scratch), k - 1);
  return cost;
}

}  // namespace headway
