// Tables that grow together against the same tables grown one by one: block for block, hash for hash.
#include <vector>

#include "sim/core/random.h"
#include "sim/kv/paged_kv.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

struct Pair {
  PagedKv together, alone;
  std::vector<Request> requests;
  std::vector<std::int32_t> stored;  // of the gathered slots, as the tables alone have it

  Pair(bool prefix_caching, bool counts_only)
      : together({.num_blocks = 400,
                  .block_size = 4,
                  .max_model_len = 4096,
                  .prefix_caching = prefix_caching,
                  .counts_only = counts_only}),
        alone({.num_blocks = 400,
               .block_size = 4,
               .max_model_len = 4096,
               .prefix_caching = prefix_caching}),
        requests(12) {}

  void open(std::uint32_t slot, std::int32_t prompt) {
    Request& r = requests[slot];
    r.id = slot;
    r.prompt_tokens = prompt;
    r.output_tokens = 1000;
    for (PagedKv* kv : {&together, &alone}) {
      kv->open(slot, r);
      REQUIRE(kv->allocate(slot, {0, prompt, 0, prompt}));
    }
    together.gather(slot);
    if (stored.size() <= slot) stored.resize(slot + 1);
    stored[slot] = prompt;
  }
  void step(const std::vector<std::uint32_t>& slots) {
    together.tick();
    together.hash_ticked(together.ticks(), together.ticks() - 1);
    for (const std::uint32_t slot : slots) {
      const std::int32_t had = stored[slot]++;
      REQUIRE(alone.allocate(slot, {had, 1, 0, had + 1}));
    }
  }
  void same(bool named) {
    together.check();
    alone.check();
    const KvUsage a = together.usage(), b = alone.usage();
    REQUIRE(a.free_blocks == b.free_blocks);
    REQUIRE(a.table_blocks == b.table_blocks);
    REQUIRE(a.tokens_stored == b.tokens_stored);
    if (!named) return;
    REQUIRE(together.pool().free_queue() == alone.pool().free_queue());
    REQUIRE(together.pool().hashed_blocks() == alone.pool().hashed_blocks());
  }
};

}  // namespace

TEST_CASE("tables that grow together take the blocks of tables grown one by one", "[unit][kv]") {
  for (const bool prefix_caching : {false, true}) {
    Pair p(prefix_caching, false);
    RandomStream random(1, "gathered");
    std::vector<std::uint32_t> slots;
    for (std::uint32_t slot = 0; slot < 12; ++slot) {
      p.open(slot, 1 + static_cast<std::int32_t>(random.uniform() * 20));
      slots.push_back(slot);
      for (int i = 0; i < 5; ++i) p.step(slots);
      p.same(true);
      if (slot % 3 != 2) continue;
      const std::uint32_t leaves = slots[slots.size() / 2];
      slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(slots.size() / 2));
      p.together.scatter(leaves);
      REQUIRE(p.together.table(leaves) == p.alone.table(leaves));
      p.together.free(leaves);
      p.alone.free(leaves);
      p.same(true);
    }
  }
}

TEST_CASE("many steps at once take the blocks of as many steps", "[unit][kv]") {
  for (const bool counts_only : {false, true}) {
    Pair p(false, counts_only);
    std::vector<std::uint32_t> slots;
    for (std::uint32_t slot = 0; slot < 5; ++slot) {
      p.open(slot, 3 * static_cast<std::int32_t>(slot) + 1);
      slots.push_back(slot);
    }
    for (const std::int64_t ticks : {1, 3, 4, 9, 40}) {
      std::vector<std::int32_t> ahead(4);
      p.together.blocks_ahead(ahead);
      const std::int64_t free = p.alone.usage().free_blocks;
      p.together.tick(ticks);
      for (std::int64_t i = 0; i < ticks; ++i) {
        for (const std::uint32_t slot : slots) {
          const std::int32_t had = p.stored[slot]++;
          REQUIRE(p.alone.allocate(slot, {had, 1, 0, had + 1}));
        }
        if (i == 0) REQUIRE(free - p.alone.usage().free_blocks == ahead[0]);
      }
      p.same(!counts_only);
    }
    p.together.name_blocks();
    p.same(false);
    for (const std::uint32_t slot : slots) {
      p.together.scatter(slot);
      REQUIRE(p.together.table(slot).size() == p.alone.table(slot).size());
      p.together.free(slot);
      p.together.close(slot);
    }
    REQUIRE(p.together.usage().held_blocks == 0);
  }
}
