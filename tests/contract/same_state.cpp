#include "tests/contract/same_state.h"

#include "sim/core/errors.h"
#include "sim/scheduling/sglang.h"
#include "sim/scheduling/vllm_v0.h"

namespace headway::contract {
namespace {

void same_usage(const KvUsage& x, const KvUsage& y) {
  SIM_CHECK(x.held_blocks == y.held_blocks && x.free_blocks == y.free_blocks, "blocks");
  SIM_CHECK(x.cached_blocks == y.cached_blocks && x.tokens_stored == y.tokens_stored, "tokens");
  SIM_CHECK(x.prefix_hits == y.prefix_hits && x.prefix_queries == y.prefix_queries, "prefix hits");
  SIM_CHECK(x.tokens_reserved_later == y.tokens_reserved_later);
  SIM_CHECK(x.tokens_never_used == y.tokens_never_used);
}

void same_tables(VllmV0& a, VllmV0& b) {
  const VllmV0::Queue mine = a.running_queue(), theirs = b.running_queue();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    SIM_CHECK(mine[i]->slot == theirs[i]->slot, "order of the running");
    SIM_CHECK(a.kv().table(mine[i]->slot) == b.kv().table(mine[i]->slot), "block ids");
  }
}

void same_pool(const Sglang& a, const Sglang& b) {
  SIM_CHECK(a.new_token_ratio() == b.new_token_ratio(), "new_token_ratio");
  SIM_CHECK(a.pool().available_tokens() == b.pool().available_tokens());
  SIM_CHECK(a.pool().evictable_tokens() == b.pool().evictable_tokens());
}

}  // namespace

void same_state(Scheduler& a, const std::deque<Sequence>& sequences_a, Scheduler& b,
                const std::deque<Sequence>& sequences_b) {
  a.settle();
  b.settle();
  same_usage(a.kv_usage(), b.kv_usage());
  SIM_CHECK(a.waiting() == b.waiting(), "waiting");
  SIM_CHECK(a.running() == b.running(), "running");
  for (std::size_t i = 0; i < sequences_a.size(); ++i) {
    const Sequence& s = sequences_a[i];
    const Sequence& t = sequences_b[i];
    SIM_CHECK(s.state == t.state && s.output_tokens == t.output_tokens, "sequence");
    SIM_CHECK(s.computed_tokens == t.computed_tokens && s.placeholders == t.placeholders);
  }
  if (auto* v = dynamic_cast<VllmV0*>(&a)) same_tables(*v, dynamic_cast<VllmV0&>(b));
  if (auto* v = dynamic_cast<Sglang*>(&a)) same_pool(*v, dynamic_cast<Sglang&>(b));
}

}  // namespace headway::contract
