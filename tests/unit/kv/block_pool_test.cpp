#include "sim/kv/block_pool.h"

#include "sim/core/errors.h"
#include "tests/support/catch.h"

using namespace headway;
using Ids = std::vector<BlockId>;

TEST_CASE("the null block is never handed out and blocks come in order", "[unit][kv]") {
  BlockPool pool(4);
  REQUIRE(pool.usable_blocks() == 3);
  REQUIRE(pool.free_queue() == Ids{1, 2, 3});
  REQUIRE(pool.take() == 1);
  REQUIRE(pool.take() == 2);
  REQUIRE(pool.take() == 3);
  REQUIRE(pool.free_blocks() == 0);
  REQUIRE_THROWS_AS(pool.take(), InternalError);
  pool.check();
}

TEST_CASE("a released block joins the tail of the queue", "[unit][kv]") {
  BlockPool pool(5);
  pool.take();
  pool.take();
  REQUIRE(pool.release(2));
  REQUIRE(pool.release(1));
  REQUIRE(pool.free_queue() == Ids{3, 4, 2, 1});
  REQUIRE_THROWS_AS(pool.release(1), InternalError);
}

TEST_CASE("a block is free only when its last reference is gone", "[unit][kv]") {
  BlockPool pool(3);
  const BlockId block = pool.take();
  pool.touch(block);
  REQUIRE(pool.references(block) == 2);
  REQUIRE_FALSE(pool.release(block));
  REQUIRE(pool.release(block));
  pool.check();
}

TEST_CASE("a hash survives until the block is handed out anew", "[unit][kv]") {
  BlockPool pool(3);
  const BlockId block = pool.take();
  pool.set_hash(block, 77);
  REQUIRE(pool.find(77) == block);
  pool.release(block);
  REQUIRE(pool.cached_blocks() == 1);
  REQUIRE(pool.find(77) == block);  // lazily evicted: still there

  pool.touch(block);  // a hit takes it out of the middle or the tail of the queue
  REQUIRE(pool.cached_blocks() == 0);
  REQUIRE(pool.free_queue() == Ids{2});
  pool.release(block);
  REQUIRE(pool.take() == 2);
  REQUIRE(pool.find(77) == block);
  REQUIRE(pool.take() == block);
  REQUIRE(pool.find(77) == 0);
  pool.check();
}

TEST_CASE("of blocks with equal hash the first one is found, then the next", "[unit][kv]") {
  BlockPool pool(4);
  const BlockId a = pool.take();
  const BlockId b = pool.take();
  pool.set_hash(a, 5);
  pool.set_hash(b, 5);
  pool.set_hash(pool.take(), 5 + 4);  // falls into the same bucket of four
  REQUIRE(pool.find(5) == a);
  REQUIRE(pool.find(9) == 3);
  pool.release(a);
  REQUIRE(pool.take() == a);
  REQUIRE(pool.find(5) == b);
  REQUIRE(pool.hashed_blocks() == Ids{2, 3});
  pool.check();
}
