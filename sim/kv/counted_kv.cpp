#include "sim/kv/counted_kv.h"

#include <algorithm>

#include "sim/core/errors.h"

namespace headway {

CountedKv::CountedKv(std::int64_t num_blocks, std::int32_t block_size)
    : total_(num_blocks), block_size_(block_size), free_(num_blocks), rows_(block_size) {
  SIM_CHECK(num_blocks >= 0 && block_size >= 1);
}

bool CountedKv::ever_fits(const AdmissionDemand& demand, std::int64_t spare) const {
  // The last token emitted is never fed back, so it stores no KV.
  const std::int64_t at_end = std::int64_t{demand.prompt_tokens} + demand.output_tokens - 1;
  return blocks_for(demand.tokens_now) + spare <= total_ && blocks_for(at_end) <= total_;
}

bool CountedKv::can_admit(const AdmissionDemand& demand, std::int64_t spare) const {
  return free_ - blocks_for(demand.tokens_now) >= spare;
}

void CountedKv::admit(std::uint32_t slot, const AdmissionDemand& demand) {
  const std::int64_t need = blocks_for(demand.tokens_now);
  SIM_CHECK(need >= 1 && need <= free_);
  if (slot >= by_slot_.size()) by_slot_.resize(slot + 1);
  SIM_CHECK(by_slot_[slot].capacity == 0, "slot already holds KV");
  by_slot_[slot].capacity = static_cast<std::int32_t>(need * block_size_);
  free_ -= need;
}

bool CountedKv::store(std::uint32_t slot, std::int32_t tokens) {
  Holding& holding = by_slot_[slot];
  if (tokens > holding.capacity) [[unlikely]] {
    const std::int64_t need = ceil_div(tokens - holding.capacity, block_size_);
    if (need > free_) return false;
    free_ -= need;
    holding.capacity += static_cast<std::int32_t>(need * block_size_);
  }
  tokens_ += tokens - holding.tokens;
  holding.tokens = tokens;
  return true;
}

void CountedKv::rewind(std::uint32_t slot, std::int32_t tokens) {
  Holding& holding = by_slot_[slot];
  SIM_CHECK(tokens >= 1 && tokens <= holding.tokens);
  const std::int64_t keep = blocks_for(tokens);
  free_ += holding.capacity / block_size_ - keep;
  tokens_ -= holding.tokens - tokens;
  holding.tokens = tokens;
  holding.capacity = static_cast<std::int32_t>(keep * block_size_);
}

void CountedKv::release(std::uint32_t slot) {
  Holding& holding = by_slot_[slot];
  SIM_CHECK(holding.capacity > 0 && holding.gathered_at == kAlone, "slot holds no KV");
  free_ += holding.capacity / block_size_;
  tokens_ -= holding.tokens;
  holding = {};
}

void CountedKv::retain(std::uint32_t slot) {
  retained_tokens_ += by_slot_[slot].tokens;
  retained_blocks_ += by_slot_[slot].capacity / block_size_;
  by_slot_[slot] = {};
}

void CountedKv::release_retained() {
  free_ += retained_blocks_;
  tokens_ -= retained_tokens_;
  retained_blocks_ = retained_tokens_ = 0;
}

void CountedKv::gather(std::uint32_t slot) {
  Holding& holding = by_slot_[slot];
  SIM_CHECK(holding.capacity > 0 && holding.gathered_at == kAlone);
  holding.gathered_at = rows_.ticks();
  holding.row = rows_.join(holding.capacity - holding.tokens);
}

void CountedKv::scatter(std::uint32_t slot) {
  Holding& holding = by_slot_[slot];
  SIM_CHECK(holding.gathered_at != kAlone);
  holding = now(holding);
  rows_.leave(holding.row);
}

void CountedKv::tick(std::int64_t ticks) {
  tokens_ += ticks * rows_.size();
  free_ -= rows_.tick(ticks);
  SIM_CHECK(free_ >= 0, "a tick finds no block");
}

CountedKv::Holding CountedKv::now(const Holding& holding) const {
  if (holding.gathered_at == kAlone) return holding;
  Holding grown = holding;
  grown.tokens += static_cast<std::int32_t>(rows_.ticks() - holding.gathered_at);
  grown.capacity = static_cast<std::int32_t>(blocks_for(grown.tokens) * block_size_);
  grown.gathered_at = kAlone;
  return grown;
}

std::int64_t CountedKv::blocks_of(std::uint32_t slot) const {
  return slot < by_slot_.size() ? now(by_slot_[slot]).capacity / block_size_ : 0;
}

KvUsage CountedKv::usage() const {
  return {.total_blocks = total_,
          .held_blocks = total_ - free_,
          .free_blocks = free_,
          .block_size = block_size_,
          .tokens_stored = tokens_};
}

void CountedKv::check() const {
  std::int64_t blocks = retained_blocks_;
  std::int64_t tokens = retained_tokens_;
  for (const Holding& held : by_slot_) {
    const Holding holding = now(held);
    SIM_CHECK(holding.tokens <= holding.capacity && holding.capacity % block_size_ == 0);
    blocks += holding.capacity / block_size_;
    tokens += holding.tokens;
  }
  SIM_CHECK(free_ >= 0 && blocks + free_ == total_,
            "INV-2: held + free blocks differ from the total");
  SIM_CHECK(tokens == tokens_);
}

}  // namespace headway
