#pragma once

#include <vector>

#include "sim/kv/kv_layout.h"
#include "sim/kv/kv_store.h"

namespace headway {

// A paged KV pool reduced to counts, for layouts with windows or states (CountedKv knows full
// attention alone): full attention takes blocks as it grows, a window is a ring of blocks that is
// full once it holds the window (vLLM 0.2, block_manager.py: block_sliding_window), recurrent
// layers take theirs on admission. Blocks never come back before the sequence ends. A prompt that
// is computed at once stores of a windowed layer only what the window will see.
//
// Nothing is gathered.
class RingKv final : public KvStore {
 public:
  RingKv(std::int64_t num_blocks, const KvLayout& layout);

  bool ever_fits(const AdmissionDemand& demand, std::int64_t spare) const override;
  bool can_admit(const AdmissionDemand& demand, std::int64_t spare) const override;
  void admit(std::uint32_t slot, const AdmissionDemand& demand) override;
  bool store(std::uint32_t slot, std::int32_t tokens) override;
  std::int32_t room(std::uint32_t slot) const override;
  bool grows() const override { return true; }
  void release(std::uint32_t slot) override;
  void retain(std::uint32_t slot) override;
  void release_retained() override;
  void gather(std::uint32_t slot) override;
  void scatter(std::uint32_t slot) override;
  std::int64_t blocks_next_tick() const override { return 0; }
  void blocks_ahead(std::span<std::int32_t>) const override {}
  void tick(std::int64_t ticks) override;
  bool uniform() const override { return false; }
  std::int64_t growth(std::span<const std::uint32_t> slots, std::int64_t steps, std::int64_t spare,
                      std::vector<std::int32_t>& taken) const override;
  std::int64_t free_blocks() const override { return free_; }
  std::int64_t blocks_of(std::uint32_t slot) const override;
  KvUsage usage() const override;
  void check() const override;

 private:
  struct Holding {
    std::int32_t tokens = 0;  // stored
    std::int32_t reach = 0;   // tokens that it can store without another block; 0 = holds nothing
    std::int64_t blocks = 0;
  };
  // The most tokens, from `tokens` on, that need no block more than those do.
  std::int32_t reach_of(std::int64_t tokens) const;

  std::int64_t total_;
  KvLayout layout_;
  std::int64_t free_;
  std::int64_t tokens_ = 0;  // stored in all
  std::int64_t retained_tokens_ = 0, retained_blocks_ = 0;  // of ended sequences
  std::vector<Holding> by_slot_;
};

}  // namespace headway
