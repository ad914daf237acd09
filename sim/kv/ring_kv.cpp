#include "sim/kv/ring_kv.h"

#include <algorithm>
#include <limits>

#include "sim/core/errors.h"
#include "sim/kv/group_growth.h"

namespace headway {

RingKv::RingKv(std::int64_t num_blocks, const KvLayout& layout)
    : total_(num_blocks), layout_(layout), free_(num_blocks) {
  SIM_CHECK(num_blocks >= 0 && !layout.groups.empty());
}

bool RingKv::ever_fits(const AdmissionDemand& demand, std::int64_t spare) const {
  const std::int64_t at_end = std::int64_t{demand.prompt_tokens} + demand.output_tokens - 1;
  return layout_.ring(demand.tokens_now) + spare <= total_ && layout_.ring(at_end) <= total_;
}

bool RingKv::can_admit(const AdmissionDemand& demand, std::int64_t spare) const {
  return free_ - layout_.ring(demand.tokens_now) >= spare;
}

void RingKv::admit(std::uint32_t slot, const AdmissionDemand& demand) {
  const std::int64_t need = layout_.ring(demand.tokens_now);
  SIM_CHECK(need >= 1 && need <= free_);
  if (slot >= by_slot_.size()) by_slot_.resize(slot + 1);
  SIM_CHECK(by_slot_[slot].blocks == 0, "slot already holds KV");
  by_slot_[slot] = {.reach = reach_of(demand.tokens_now), .blocks = need};
  free_ -= need;
}

std::int32_t RingKv::reach_of(std::int64_t tokens) const {
  constexpr std::int64_t kEndless = std::numeric_limits<std::int32_t>::max();
  std::int64_t reach = kEndless;
  for (const KvGroup& group : layout_.groups) {
    const std::int64_t blocks = group.ring(tokens);
    if (group.ring(kEndless) > blocks) reach = std::min(reach, blocks * group.block_size);
  }
  return static_cast<std::int32_t>(reach);
}

bool RingKv::store(std::uint32_t slot, std::int32_t tokens) {
  Holding& holding = by_slot_[slot];
  if (tokens > holding.reach) {
    const std::int64_t need = layout_.ring(tokens) - holding.blocks;
    if (need > free_) return false;
    free_ -= need;
    holding.blocks += need;
    holding.reach = reach_of(tokens);
  }
  tokens_ += tokens - holding.tokens;
  holding.tokens = tokens;
  return true;
}

std::int32_t RingKv::room(std::uint32_t slot) const {
  return by_slot_[slot].reach - by_slot_[slot].tokens;
}

void RingKv::release(std::uint32_t slot) {
  Holding& holding = by_slot_[slot];
  SIM_CHECK(holding.blocks > 0, "slot holds no KV");
  free_ += holding.blocks;
  tokens_ -= holding.tokens;
  holding = {};
}

void RingKv::retain(std::uint32_t slot) {
  retained_tokens_ += by_slot_[slot].tokens;
  retained_blocks_ += by_slot_[slot].blocks;
  by_slot_[slot] = {};
}

void RingKv::release_retained() {
  free_ += retained_blocks_;
  tokens_ -= retained_tokens_;
  retained_blocks_ = retained_tokens_ = 0;
}

void RingKv::gather(std::uint32_t) { SIM_CHECK(false, "rings are not gathered"); }
void RingKv::scatter(std::uint32_t) { SIM_CHECK(false, "rings are not gathered"); }
void RingKv::tick(std::int64_t) { SIM_CHECK(false, "rings are not gathered"); }

std::int64_t RingKv::growth(std::span<const std::uint32_t> slots, std::int64_t steps,
                            std::int64_t spare, std::vector<std::int32_t>& taken) const {
  GroupGrowth growth(layout_, steps);
  for (const std::uint32_t slot : slots) {
    for (const KvGroup& group : layout_.groups) growth.add_ring(group, by_slot_[slot].tokens);
  }
  return growth.finish(free_ - spare, taken);
}

std::int64_t RingKv::blocks_of(std::uint32_t slot) const {
  return slot < by_slot_.size() ? by_slot_[slot].blocks : 0;
}

KvUsage RingKv::usage() const {
  return {.total_blocks = total_,
          .held_blocks = total_ - free_,
          .free_blocks = free_,
          .tokens_stored = tokens_};
}

void RingKv::check() const {
  std::int64_t blocks = retained_blocks_;
  std::int64_t tokens = retained_tokens_;
  for (const Holding& holding : by_slot_) {
    SIM_CHECK(holding.tokens <= holding.reach);
    SIM_CHECK(holding.blocks == 0 || holding.blocks >= layout_.ring(holding.tokens));
    blocks += holding.blocks;
    tokens += holding.tokens;
  }
  SIM_CHECK(free_ >= 0 && blocks + free_ == total_,
            "INV-2: held + free blocks differ from the total");
  SIM_CHECK(tokens == tokens_);
}

}  // namespace headway
