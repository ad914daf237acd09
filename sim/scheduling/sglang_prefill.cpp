#include "sim/scheduling/sglang_prefill.h"

#include <algorithm>

namespace headway {
namespace {

constexpr std::int32_t kOutputReserveCap = 4096;  // SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION

std::int32_t capped(std::int32_t output_tokens) {
  return std::min(output_tokens, kOutputReserveCap);
}

}  // namespace

SglangPrefill::SglangPrefill(const SglangPrefillLimits& limits, TokenPool& pool,
                             const SglangBatch& running, double new_token_ratio,
                             std::int32_t mixed_decodes,
                             const std::vector<std::int32_t>& output_budget)
    : limits_(limits),
      pool_(pool),
      running_(running),
      ratio_(new_token_ratio),
      output_budget_(output_budget),
      reserved_(mixed_decodes),
      reserved_now_(mixed_decodes),
      prefill_left_(limits.max_prefill_tokens - mixed_decodes),
      chunk_left_(limits.chunk_tokens - mixed_decodes) {
  double running_output = 0;
  for (const SglangBatch::Member& m : running.members) {
    const std::int32_t left =
        m.sequence == nullptr ? m.output_left : m.output_budget - m.sequence->output_tokens;
    running_output += std::max(capped(left), 0) * ratio_;
  }
  reserved_ += running_output;
}

double SglangPrefill::room() const {
  return static_cast<double>(pool_.available_tokens() + pool_.evictable_tokens()) - reserved_;
}

std::int64_t SglangPrefill::room_now() const {
  return pool_.available_tokens() + pool_.evictable_tokens() - reserved_now_;
}

std::int32_t SglangPrefill::paged(std::int32_t tokens) const {
  const std::int32_t page = pool_.page_size();
  return (tokens + page - 1) / page * page;
}

SglangPrefill::Verdict SglangPrefill::state() const {
  if (room() <= 0 || room_now() <= 0) return Verdict::kNoToken;
  const bool chunk_used_up = limits_.chunk_tokens > 0 && chunk_left_ <= 0;
  return prefill_left_ <= 0 || chunk_used_up ? Verdict::kOther : Verdict::kContinue;
}

void SglangPrefill::pick(Sequence& s, std::int32_t prefix, std::int32_t extend,
                         std::int32_t reserved_output) {
  picks_.push_back({&s, prefix, extend});
  extend_tokens_ += extend;
  const std::int32_t tokens = paged(extend);
  reserved_ += tokens + reserved_output;
  reserved_now_ += tokens;
  prefill_left_ -= tokens;
  chunk_left_ -= tokens;
}

void SglangPrefill::resume(Sequence& chunked) {
  const std::int32_t missing = chunked.known_tokens() - chunked.computed_tokens;
  std::int32_t tokens = chunk_left_;
  if (room() >= 1) {
    tokens = std::min(tokens, static_cast<std::int32_t>(std::min<double>(room(), missing)));
  } else {  // reservations may exceed the pool; the chunk still goes first
    const auto page = static_cast<std::int64_t>(pool_.page_size());
    const std::int64_t now = std::max<std::int64_t>(room_now(), 0) / page * page;
    tokens =
        static_cast<std::int32_t>(std::min<std::int64_t>(tokens, now + pool_.slack(chunked.slot)));
  }
  if (tokens <= 0) return;
  const bool whole = missing <= tokens;
  pick(chunked, chunked.computed_tokens, std::min(missing, tokens),
       whole ? capped(output_budget(chunked)) : 0);
  if (!whole) cut_ = &chunked;
}

SglangPrefill::Verdict SglangPrefill::add(Sequence& s) {
  return ends_by_length(s) && !pool_.prefix_caching() ? add_simulating(s) : add_reserving(s);
}

SglangPrefill::Verdict SglangPrefill::add_reserving(Sequence& s) {
  const RadixCache::Match prefix = pool_.lookup(s.slot, s.known_tokens() - 1);
  const std::int32_t extend = s.known_tokens() - prefix.tokens;
  const std::int32_t total = extend + capped(std::max(output_budget(s) - s.output_tokens, 0));
  if (total >= room()) return Verdict::kNoToken;
  if (paged(extend) >= prefill_left_ && !picks_.empty()) return Verdict::kOther;
  // Locked, the prefix is no longer evictable: there is less room.
  pool_.lock_prefix(s.slot, prefix);
  const Verdict verdict = total >= room() ? Verdict::kNoToken : take(s, prefix, extend);
  if (picks_.empty() || picks_.back().sequence != &s) pool_.unlock_prefix(s.slot);
  return verdict;
}

// Picks the sequence, whole or cut where the chunk ends.
SglangPrefill::Verdict SglangPrefill::take(Sequence& s, const RadixCache::Match& prefix,
                                           std::int32_t extend) {
  if (limits_.chunk_tokens <= 0 || paged(extend) <= chunk_left_) {
    pick(s, prefix.tokens, extend, capped(output_budget(s)));
    return state();
  }
  const std::int32_t chunk = chunk_left_ / pool_.page_size() * pool_.page_size();
  if (chunk <= 0) return Verdict::kOther;
  pick(s, prefix.tokens, chunk, 0);
  cut_ = &s;
  return state();
}

// Plays the decoding of everyone to the end, the shortest first: at no end of one may the pool be
// short for those still running. Holds for sequences that use their whole output budget, which is
// what `ignore_eos` promises; used by the engine where no tree stands in for evictable memory.
SglangPrefill::Verdict SglangPrefill::add_simulating(Sequence& s) {
  const std::int32_t extend = s.known_tokens();
  if (paged(extend) > std::min<double>(static_cast<double>(room_now()), room())) {
    return Verdict::kNoToken;
  }
  if (futures_) {
    note_future(s, true);
  } else {
    futures_.emplace();
    note_future(s, false);
    for (const SglangBatch::Member& m : running_.members) {
      if (m.sequence != nullptr) note_future(*m.sequence, false);
    }
    for (const Pick& p : picks_) note_future(*p.sequence, false);
    std::stable_sort(futures_->begin(), futures_->end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  // Alone it fits (Sglang::add), though not by this estimate where a page is rounded up.
  const bool alone = picks_.empty() && running_.empty();
  if (!alone && !future_fits(extend)) return Verdict::kNoToken;
  return take(s, {}, extend);
}

void SglangPrefill::note_future(const Sequence& s, bool keep_order) {
  const double share = ends_by_length(s) ? 1.0 : ratio_;
  const double left = output_budget(s) * share - s.output_tokens;
  if (left <= 0) return;
  auto place = futures_->end();
  if (keep_order && !futures_->empty()) {
    // As the engine has it: one that ends last of all is put before the last.
    place = std::find_if(futures_->begin(), futures_->end() - 1,
                         [&](const auto& future) { return left <= future.first; });
  }
  futures_->insert(place, {left, s.known_tokens()});
}

bool SglangPrefill::future_fits(std::int32_t extend) const {
  const double free = static_cast<double>(room_now() - paged(extend));
  double freed = 0;
  auto still_running = static_cast<double>(futures_->size());
  for (const auto& [left, held] : *futures_) {
    const double spare = free + freed - left * still_running;
    if (spare <= still_running) return false;
    freed += held;
    still_running -= 1;
  }
  return true;
}

}  // namespace headway
