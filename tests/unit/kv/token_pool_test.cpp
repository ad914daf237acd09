// A pool of token slots worked by hand.
#include "sim/kv/token_pool.h"

#include "tests/support/catch.h"

using namespace headway;

namespace {

// Prompts of one group begin with the same `shared` tokens; the rest is their own.
Request request(std::uint64_t id, std::int32_t prompt, std::int32_t shared) {
  Request r;
  r.id = id;
  r.prompt_tokens = prompt;
  r.output_tokens = 100;
  r.prefix_group = 0;
  r.prefix_tokens = shared;
  return r;
}

struct Amounts {
  std::int64_t available, evictable, locked;
  bool operator==(const Amounts&) const = default;
};

Amounts amounts(const TokenPool& pool) {
  pool.check();
  return {pool.available_tokens(), pool.evictable_tokens(), pool.protected_tokens()};
}

}  // namespace

TEST_CASE("a token pool shares prefixes and takes duplicates back", "[unit]") {
  TokenPool pool(30, 1, true);
  pool.open(0, request(0, 6, 4));
  pool.open(1, request(1, 7, 4));
  // Both start before the other's prefix is in the tree: each computes all of its prompt.
  pool.lock_prefix(0, pool.lookup(0, 5));
  pool.lock_prefix(1, pool.lookup(1, 6));
  pool.extend(0, 6);
  pool.extend(1, 7);
  CHECK(amounts(pool) == Amounts{17, 0, 0});
  pool.cache_prefix(0, 6);
  CHECK(amounts(pool) == Amounts{17, 0, 6});
  pool.cache_prefix(1, 7);  // four tokens were there
  CHECK(amounts(pool) == Amounts{21, 0, 9});
  CHECK(pool.usage(1).held_blocks == 9);
  CHECK(pool.usage(1).tokens_stored == 9);
  CHECK(pool.usage(5).total_blocks == 6);
  CHECK(pool.usage(5).held_blocks == 2);  // the second has room for one more
  pool.extend(0, 3);                      // three answers
  CHECK(amounts(pool) == Amounts{18, 0, 9});
  pool.release(0, 8);  // of which two are known
  CHECK(amounts(pool) == Amounts{19, 4, 7});
  pool.extend(1, 2);
  pool.drop(1);  // its answers go, its prompt stays
  CHECK(amounts(pool) == Amounts{19, 11, 0});
  pool.close(0);
  pool.close(1);
  CHECK(pool.make_room(19));
  CHECK(pool.evictable_tokens() == 11);
  CHECK(pool.make_room(30));
  CHECK(amounts(pool) == Amounts{30, 0, 0});
  CHECK_FALSE(pool.make_room(31));
}

TEST_CASE("a token pool counts whole pages", "[unit]") {
  TokenPool pool(26, 4, true);  // six pages
  CHECK(pool.total_tokens() == 24);
  pool.open(0, request(0, 6, 5));
  pool.lock_prefix(0, pool.lookup(0, 5));
  pool.extend(0, 6);
  CHECK(pool.slack(0) == 2);
  CHECK(amounts(pool) == Amounts{16, 0, 0});
  pool.cache_prefix(0, 6);  // one page; the other is not full
  CHECK(amounts(pool) == Amounts{16, 0, 4});
  pool.open(1, request(1, 7, 5));
  pool.lock_prefix(1, pool.lookup(1, 6));
  CHECK(pool.stored(1) == 4);
  pool.extend(1, 3);
  CHECK(amounts(pool) == Amounts{12, 0, 4});
  pool.extend(0, 3);
  CHECK(amounts(pool) == Amounts{8, 0, 4});
  pool.release(0, 9);  // its second page is kept, of the third one token is lost
  CHECK(amounts(pool) == Amounts{12, 4, 4});
  CHECK(pool.usage(4).cached_blocks == 1);
  CHECK(pool.usage(8).held_blocks == 1);
  pool.release(1, 7);
  CHECK(amounts(pool) == Amounts{16, 8, 0});
  pool.close(0);
  pool.close(1);
}

TEST_CASE("a token pool without prefix caching gives everything back", "[unit]") {
  TokenPool pool(10, 1, false);
  for (std::uint32_t slot : {0U, 1U}) {
    pool.open(slot, request(slot, 4, 4));
    CHECK(pool.lookup(slot, 3).tokens == 0);
    pool.extend(slot, 4);
    pool.cache_prefix(slot, 4);
  }
  CHECK(amounts(pool) == Amounts{2, 0, 0});
  pool.release(0, 4);
  CHECK(amounts(pool) == Amounts{6, 0, 0});
  CHECK_FALSE(pool.make_room(7));
}
