#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/kv/kv_usage.h"

namespace headway {

// What a sequence asks of the KV memory when it is admitted.
struct AdmissionDemand {
  std::int32_t prompt_tokens = 0;  // as sent
  std::int32_t output_tokens = 0;  // that it will emit in all: only oracle allocators look
  std::int32_t tokens_now = 0;     // to be stored by its prefill: prompt + answers so far
};

// KV memory of which only amounts matter: no block ids, no sharing. Sequences are named by their
// slot (scheduling/sequence.h). Implementations: CountedKv (paged), ContiguousKv (pre-paging).
//
// Amounts are in blocks. "Held" blocks belong to a sequence, or were retained past its end.
class KvStore {
 public:
  virtual ~KvStore() = default;

  // Whether the sequence could ever be admitted with `spare` blocks left free, and then run to its
  // end, were it alone.
  virtual bool ever_fits(const AdmissionDemand& demand, std::int64_t spare) const = 0;
  // Whether it can be admitted now and leave `spare` blocks free.
  virtual bool can_admit(const AdmissionDemand& demand, std::int64_t spare) const = 0;
  // Takes the memory that admission takes; nothing is stored yet. REQUIRES: can_admit(demand, 0).
  virtual void admit(std::uint32_t slot, const AdmissionDemand& demand) = 0;
  // The sequence stores `tokens` tokens from now on (never fewer than before). Takes what more
  // memory that needs; false, and nothing changed, where there is none.
  virtual bool store(std::uint32_t slot, std::int32_t tokens) = 0;
  // Tokens that the sequence can store before it needs more memory than it holds.
  virtual std::int32_t room(std::uint32_t slot) const = 0;
  virtual void release(std::uint32_t slot) = 0;
  // The sequence has ended but its memory stays held (and stored) until release_retained().
  virtual void retain(std::uint32_t slot) = 0;
  virtual void release_retained() = 0;

  // Sequences that grow together: each stores one token more with every tick(), as that many
  // store() would have it, without a look at each. Between gather() and scatter() nothing else
  // happens to one. REQUIRES: its memory is full within a block's tokens, where it grows at all.
  virtual void gather(std::uint32_t slot) = 0;
  virtual void scatter(std::uint32_t slot) = 0;
  virtual std::int64_t blocks_next_tick() const = 0;  // that it takes
  // What each of the next out.size() ticks takes, a block's tokens at most. REQUIRES: grows().
  virtual void blocks_ahead(std::span<std::int32_t> out) const = 0;
  virtual void tick(std::int64_t ticks) = 0;  // REQUIRES: the blocks are free

  // Whether its sequences take blocks alike, one when the last one is full; growth() is for others.
  virtual bool uniform() const { return true; }
  // Of steps in which each of the slots stores one token more, no more than `steps`, those that
  // leave `spare` blocks free throughout; `taken` is the blocks that each takes, with their period.
  virtual std::int64_t growth(std::span<const std::uint32_t>, std::int64_t, std::int64_t,
                              std::vector<std::int32_t>&) const {
    return 0;
  }

  // Whether storing can need more memory than admission took.
  virtual bool grows() const = 0;
  virtual std::int64_t free_blocks() const = 0;
  virtual std::int64_t blocks_of(std::uint32_t slot) const = 0;  // held by the sequence
  // Most sequences that can be held at once whatever they are; only a fixed reservation knows.
  virtual std::int64_t max_sequences() const { return INT64_MAX; }
  virtual KvUsage usage() const = 0;
  // InternalError when the books do not agree (INV-2). Walks everything: tests only.
  virtual void check() const = 0;
};

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace headway
