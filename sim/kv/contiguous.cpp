#include "sim/kv/contiguous.h"

#include <algorithm>
#include <bit>

#include "sim/core/errors.h"

namespace headway {

std::optional<ReservationRule> parse_reservation_rule(std::string_view kv_allocator) {
  if (kv_allocator == "reserve-max") return ReservationRule::kMax;
  if (kv_allocator == "reserve-exact") return ReservationRule::kExact;
  if (kv_allocator == "reserve-pow2") return ReservationRule::kPow2;
  return std::nullopt;
}

ContiguousKv::ContiguousKv(std::int64_t num_blocks, std::int32_t block_size,
                           std::int32_t max_model_len, ReservationRule rule,
                           const KvLayout& layout)
    : total_(num_blocks),
      block_size_(block_size),
      max_model_len_(max_model_len),
      rule_(rule),
      layout_(layout),
      free_(num_blocks) {
  SIM_CHECK(num_blocks >= 0 && block_size >= 1 && max_model_len >= 1);
  if (num_blocks > 0) runs_.push_back({0, num_blocks});
}

std::int64_t ContiguousKv::reservation(const AdmissionDemand& demand) const {
  std::int64_t tokens = max_model_len_;
  if (rule_ == ReservationRule::kExact) {
    tokens = std::int64_t{demand.prompt_tokens} + demand.output_tokens;
  } else if (rule_ == ReservationRule::kPow2) {
    const auto output = std::bit_ceil(static_cast<std::uint32_t>(demand.output_tokens));
    tokens = std::min<std::int64_t>(std::int64_t{demand.prompt_tokens} + output, max_model_len_);
  }
  return blocks_for(std::max<std::int64_t>(tokens, demand.tokens_now));
}

std::size_t ContiguousKv::first_fit(std::int64_t length) const {
  std::size_t i = 0;
  while (i < runs_.size() && runs_[i].length < length) ++i;
  return i;
}

bool ContiguousKv::ever_fits(const AdmissionDemand& demand, std::int64_t) const {
  return reservation(demand) <= total_;
}

// No block is kept in reserve: what is reserved is enough, so nothing grows later.
bool ContiguousKv::can_admit(const AdmissionDemand& demand, std::int64_t) const {
  const std::int64_t length = reservation(demand);
  return length <= free_ && first_fit(length) < runs_.size();
}

void ContiguousKv::admit(std::uint32_t slot, const AdmissionDemand& demand) {
  const std::int64_t length = reservation(demand);
  const std::size_t i = first_fit(length);
  SIM_CHECK(i < runs_.size(), "no free run is long enough");
  if (slot >= by_slot_.size()) by_slot_.resize(slot + 1);
  SIM_CHECK(by_slot_[slot].length == 0, "slot already holds KV");
  const std::int32_t at_end =
      std::max(demand.prompt_tokens + demand.output_tokens - 1, demand.tokens_now);
  by_slot_[slot] = {.start = runs_[i].start, .length = length, .at_end = at_end};
  runs_[i].start += length;
  runs_[i].length -= length;
  if (runs_[i].length == 0) runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(i));
  free_ -= length;
  at_end_ += at_end;
}

bool ContiguousKv::store(std::uint32_t slot, std::int32_t tokens) {
  Reservation& reservation = by_slot_[slot];
  SIM_CHECK(tokens <= reservation.length * block_size_ || blocks_for(tokens) <= reservation.length,
            "more tokens than were reserved");
  tokens_ += tokens - reservation.tokens;
  reservation.tokens = tokens;
  return true;
}

void ContiguousKv::release_run(Run run) {
  auto next = std::lower_bound(runs_.begin(), runs_.end(), run.start,
                               [](const Run& a, std::int64_t start) { return a.start < start; });
  if (next != runs_.end() && run.start + run.length == next->start) {
    run.length += next->length;
    next = runs_.erase(next);
  }
  if (next != runs_.begin() && std::prev(next)->start + std::prev(next)->length == run.start) {
    std::prev(next)->length += run.length;
  } else {
    runs_.insert(next, run);
  }
}

void ContiguousKv::give_back(const Reservation& reservation) {
  release_run({reservation.start, reservation.length});
  free_ += reservation.length;
  tokens_ -= reservation.tokens;
  at_end_ -= reservation.at_end;
}

void ContiguousKv::release(std::uint32_t slot) {
  SIM_CHECK(by_slot_[slot].length > 0 && by_slot_[slot].gathered_at == kAlone, "slot holds no KV");
  give_back(by_slot_[slot]);
  by_slot_[slot] = {};
}

void ContiguousKv::gather(std::uint32_t slot) {
  SIM_CHECK(by_slot_[slot].length > 0 && by_slot_[slot].gathered_at == kAlone);
  by_slot_[slot].gathered_at = ticks_;
  ++gathered_;
}

void ContiguousKv::scatter(std::uint32_t slot) {
  Reservation& reservation = by_slot_[slot];
  SIM_CHECK(reservation.gathered_at != kAlone);
  reservation.tokens = static_cast<std::int32_t>(stored(reservation));
  SIM_CHECK(blocks_for(reservation.tokens) <= reservation.length,
            "more tokens than were reserved");
  reservation.gathered_at = kAlone;
  --gathered_;
}

void ContiguousKv::tick(std::int64_t ticks) {
  ticks_ += ticks;
  tokens_ += ticks * gathered_;
}

void ContiguousKv::retain(std::uint32_t slot) {
  retained_.push_back(by_slot_[slot]);
  by_slot_[slot] = {};
}

void ContiguousKv::release_retained() {
  for (const Reservation& reservation : retained_) give_back(reservation);
  retained_.clear();
}

std::int64_t ContiguousKv::blocks_of(std::uint32_t slot) const {
  return slot < by_slot_.size() ? by_slot_[slot].length : 0;
}

std::int64_t ContiguousKv::max_sequences() const {
  if (rule_ != ReservationRule::kMax) return INT64_MAX;
  return total_ / blocks_for(max_model_len_);
}

KvUsage ContiguousKv::usage() const {
  KvUsage usage{.total_blocks = total_,
                .held_blocks = total_ - free_,
                .free_blocks = free_,
                .block_size = block_size_,
                .tokens_stored = tokens_};
  for (const Run& run : runs_)
    usage.largest_free_run = std::max(usage.largest_free_run, run.length);
  if (!layout_.plain()) {
    usage.block_size = 0;
    return usage;
  }
  usage.tokens_reserved_later = at_end_ - tokens_;
  usage.tokens_never_used = usage.held_blocks * block_size_ - at_end_;
  return usage;
}

void ContiguousKv::check() const {
  std::vector<Run> all;
  std::int64_t tokens = 0;
  std::int64_t at_end = 0;
  for (const auto* list : {&by_slot_, &retained_}) {
    for (const Reservation& r : *list) {
      SIM_CHECK(stored(r) <= r.at_end && (r.at_end == 0 || blocks_for(r.at_end) <= r.length));
      if (r.length > 0) all.push_back({r.start, r.length});
      tokens += stored(r);
      at_end += r.at_end;
    }
  }
  SIM_CHECK(tokens == tokens_ && at_end == at_end_);
  std::int64_t free = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    SIM_CHECK(i == 0 || runs_[i - 1].start + runs_[i - 1].length < runs_[i].start,
              "free runs that touch were not joined");
    free += runs_[i].length;
    all.push_back(runs_[i]);
  }
  SIM_CHECK(free == free_);
  std::sort(all.begin(), all.end(), [](const Run& a, const Run& b) { return a.start < b.start; });
  std::int64_t end = 0;  // INV-2: free and held runs tile the range
  for (const Run& run : all) {
    SIM_CHECK(run.start == end, "INV-2: a gap or an overlap in the address range");
    end += run.length;
  }
  SIM_CHECK(end == total_);
}

}  // namespace headway
