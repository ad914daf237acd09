#include "sim/kv/host_tier.h"

#include "sim/kv/paged_kv.h"
#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("host tier: the block used least recently gives way", "[unit][kv][offload]") {
  HostTier tier(3);
  CHECK(tier.on());
  CHECK_FALSE(HostTier(0).on());
  for (std::uint64_t hash : {1, 2, 3}) tier.put(hash);
  tier.put(1);  // used again
  tier.put(4);
  CHECK(tier.blocks() == 3);
  CHECK(tier.holds(1));
  CHECK_FALSE(tier.holds(2));
  CHECK(tier.holds(3));
  CHECK(tier.holds(4));
}

TEST_CASE("what the GPU has evicted is found in host memory", "[unit][kv][offload]") {
  PagedKv kv({.num_blocks = 5,  // four of four tokens, and the null block
              .block_size = 4,
              .max_model_len = 64,
              .prefix_caching = true,
              .host_blocks = 6});
  Request first, second;
  first.id = 1;
  second.id = 2;
  first.prompt_tokens = second.prompt_tokens = 16;
  const auto run = [&](std::uint32_t slot, const Request& request) {
    kv.open(slot, request);
    const PrefixHit hit = kv.lookup(slot, 16);
    REQUIRE(kv.allocate(slot, {hit.all_tokens(), 16 - hit.all_tokens(), 0, 16}, hit));
    kv.count_query(16, hit.all_tokens(), hit.host_tokens);
    kv.use_host_blocks(slot, hit);
    kv.check();
    const std::pair<std::int32_t, std::int32_t> found{hit.tokens, hit.host_tokens};
    kv.free(slot);
    kv.close(slot);
    return found;
  };
  using Found = std::pair<std::int32_t, std::int32_t>;
  CHECK(run(0, first) == Found{0, 0});
  CHECK(kv.host().blocks() == 4);
  CHECK(run(0, first) == Found{12, 0});   // on the GPU: the last block is always computed
  CHECK(run(1, second) == Found{0, 0});   // takes all four blocks of the GPU
  CHECK(kv.host().blocks() == 6);         // its four, and two of the first prompt
  // Computed in order and used from the last to the first, the first prompt's head is the youngest
  // that it has: its first two blocks are there still.
  CHECK(run(0, first) == Found{0, 8});
  CHECK(kv.usage().prefix_queries == 64);
  CHECK(kv.usage().prefix_hits == 20);
  CHECK(kv.usage().host_hits == 8);
}

TEST_CASE("a prefix may go on in host memory where the GPU's ends", "[unit][kv][offload]") {
  PagedKv kv({.num_blocks = 6,
              .block_size = 4,
              .max_model_len = 64,
              .prefix_caching = true,
              .host_blocks = 100});
  Request a, b;
  a.id = 1;
  b.id = 2;
  a.prompt_tokens = 18;
  b.prompt_tokens = 8;
  const auto fill = [&](std::uint32_t slot, const Request& r) {
    kv.open(slot, r);
    const PrefixHit hit = kv.lookup(slot, r.prompt_tokens);
    const std::int32_t had = hit.all_tokens();
    REQUIRE(kv.allocate(slot, {had, r.prompt_tokens - had, 0, r.prompt_tokens}, hit));
    return hit;
  };
  fill(0, a);  // all five blocks; the first four are full
  kv.free(0);  // the last block is the first to be taken again, then the fourth ...
  kv.close(0);
  fill(1, b);
  const PrefixHit hit = [&] {
    kv.open(2, a);
    return kv.lookup(2, 18);
  }();
  CHECK(hit.tokens == 12);
  CHECK(hit.host_tokens == 4);  // the fourth block
  CHECK(hit.blocks.size() == 3);
}
