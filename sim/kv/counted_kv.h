#pragma once

#include <vector>

#include "sim/kv/growth_rows.h"
#include "sim/kv/kv_store.h"

namespace headway {

// A paged KV pool reduced to counts, for engines whose blocks are all alike: a sequence holds
// ceil(tokens / block_size) of them, wherever they lie. The prompt's blocks are taken at once on
// admission, later ones as the sequence grows into them (PagedAttention, Kwon et al. 2023). Storing
// a token that needs no new block costs two additions.
class CountedKv final : public KvStore {
 public:
  CountedKv(std::int64_t num_blocks, std::int32_t block_size);

  bool ever_fits(const AdmissionDemand& demand, std::int64_t spare) const override;
  bool can_admit(const AdmissionDemand& demand, std::int64_t spare) const override;
  void admit(std::uint32_t slot, const AdmissionDemand& demand) override;
  bool store(std::uint32_t slot, std::int32_t tokens) override;
  // The sequence stores only its first `tokens` tokens: rejected drafts. Blocks past them are freed.
  void rewind(std::uint32_t slot, std::int32_t tokens);
  std::int32_t room(std::uint32_t slot) const override {
    return by_slot_[slot].capacity - by_slot_[slot].tokens;
  }
  bool grows() const override { return true; }
  void release(std::uint32_t slot) override;
  void retain(std::uint32_t slot) override;
  void release_retained() override;
  void gather(std::uint32_t slot) override;
  void scatter(std::uint32_t slot) override;
  std::int64_t blocks_next_tick() const override { return rows_.next(); }
  void blocks_ahead(std::span<std::int32_t> out) const override { rows_.ahead(out); }
  void tick(std::int64_t ticks) override;
  std::int64_t free_blocks() const override { return free_; }
  std::int64_t blocks_of(std::uint32_t slot) const override;
  KvUsage usage() const override;
  void check() const override;

 private:
  static constexpr std::int64_t kAlone = -1;
  struct Holding {
    std::int32_t tokens = 0;    // stored
    std::int32_t capacity = 0;  // tokens that the held blocks have room for; 0 = holds nothing
    std::int64_t gathered_at = kAlone;  // ticks before its first; kAlone = not gathered
    std::uint32_t row = 0;              // of rows_, while it is
  };
  // As it stands after the ticks so far.
  Holding now(const Holding& holding) const;
  std::int64_t blocks_for(std::int64_t tokens) const { return ceil_div(tokens, block_size_); }

  std::int64_t total_;
  std::int32_t block_size_;
  std::int64_t free_;
  std::int64_t tokens_ = 0;           // stored in all
  std::int64_t retained_tokens_ = 0;  // of ended sequences
  std::int64_t retained_blocks_ = 0;
  std::vector<Holding> by_slot_;
  GrowthRows rows_;  // of those gathered
};

}  // namespace headway
