#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/kv/kv_layout.h"
#include "sim/kv/kv_store.h"

namespace headway {

// How much a contiguous allocator reserves for a sequence. It has to decide on arrival, when the
// length of the answer is unknown; `exact` is an oracle, `pow2` half of one (Kwon et al. 2023,
// section 6.1: Orca (Max), Orca (Oracle), Orca (Pow2)).
enum class ReservationRule : std::uint8_t {
  kMax,    // "reserve-max": max_model_len
  kExact,  // "reserve-exact": prompt + the answer's true length
  kPow2,   // "reserve-pow2": prompt + the next power of two of that length, max_model_len at most
};
std::optional<ReservationRule> parse_reservation_rule(std::string_view kv_allocator);

// The KV memory of engines before paging (FasterTransformer, Orca): one address range, in which
// each sequence owns one contiguous reservation from admission to its end. First fit from the low
// end; neighbouring free runs coalesce on release.
//
// Two kinds of waste show in usage(): internal (tokens_reserved_later, tokens_never_used) and
// external (free_blocks beyond largest_free_run: free, but too scattered for a longer
// reservation). Reservations are whole blocks; block_size 1 gives the token-exact allocator.
//
// Under a layout that is not plain, a reservation is what full attention needs of all tokens, a
// ring for each window and the states (kv_layout.h); of waste nothing is said then.
class ContiguousKv final : public KvStore {
 public:
  ContiguousKv(std::int64_t num_blocks, std::int32_t block_size, std::int32_t max_model_len,
               ReservationRule rule, const KvLayout& layout = {});

  bool ever_fits(const AdmissionDemand& demand, std::int64_t spare) const override;
  bool can_admit(const AdmissionDemand& demand, std::int64_t spare) const override;
  void admit(std::uint32_t slot, const AdmissionDemand& demand) override;
  bool store(std::uint32_t slot, std::int32_t tokens) override;  // always within the reservation
  std::int32_t room(std::uint32_t slot) const override {
    return by_slot_[slot].at_end - by_slot_[slot].tokens;
  }
  bool grows() const override { return false; }
  void release(std::uint32_t slot) override;
  void retain(std::uint32_t slot) override;
  void release_retained() override;
  void gather(std::uint32_t slot) override;
  void scatter(std::uint32_t slot) override;
  std::int64_t blocks_next_tick() const override { return 0; }
  void blocks_ahead(std::span<std::int32_t>) const override {}
  void tick(std::int64_t ticks) override;
  std::int64_t free_blocks() const override { return free_; }
  std::int64_t blocks_of(std::uint32_t slot) const override;
  std::int64_t max_sequences() const override;
  KvUsage usage() const override;
  void check() const override;

  // Blocks that the rule reserves for such a sequence.
  std::int64_t reservation(const AdmissionDemand& demand) const;
  // First block of the sequence's reservation. REQUIRES: it holds one.
  std::int64_t address_of(std::uint32_t slot) const { return by_slot_[slot].start; }

 private:
  static constexpr std::int64_t kAlone = -1;
  struct Run {
    std::int64_t start, length;  // blocks
  };
  struct Reservation {
    std::int64_t start = 0, length = 0;  // blocks; length 0 = holds nothing
    std::int32_t tokens = 0;             // stored now
    std::int32_t at_end = 0;             // stored when it ends
    std::int64_t gathered_at = kAlone;   // ticks before its first; kAlone = not gathered
  };
  std::int64_t stored(const Reservation& r) const {  // after the ticks so far
    return r.tokens + (r.gathered_at == kAlone ? 0 : ticks_ - r.gathered_at);
  }
  std::int64_t blocks_for(std::int64_t tokens) const {
    return layout_.plain() ? ceil_div(tokens, block_size_) : layout_.ring(tokens);
  }
  std::size_t first_fit(std::int64_t length) const;  // index into runs_, or its size
  void give_back(const Reservation& reservation);
  void release_run(Run run);

  std::int64_t total_;
  std::int32_t block_size_;
  std::int32_t max_model_len_;
  ReservationRule rule_;
  KvLayout layout_;
  std::int64_t free_;
  std::vector<Run> runs_;  // free, by start; never two that touch
  std::vector<Reservation> by_slot_;
  std::vector<Reservation> retained_;
  std::int64_t tokens_ = 0;  // stored in all
  std::int64_t ticks_ = 0;     // of the gathered
  std::int64_t gathered_ = 0;  // reservations that grow together
  std::int64_t at_end_ = 0;  // that will have been stored in the present reservations
};

}  // namespace headway
