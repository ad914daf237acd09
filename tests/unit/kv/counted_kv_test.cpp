#include "sim/kv/counted_kv.h"

#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("A sequence takes a block only when it grows past the last", "[unit]") {
  CountedKv kv(4, 4);
  kv.admit(0, {5, 8, 5});
  CHECK(kv.blocks_of(0) == 2);
  CHECK(kv.usage().tokens_stored == 0);  // taken, nothing computed yet
  REQUIRE(kv.store(0, 5));
  REQUIRE(kv.store(0, 8));
  CHECK(kv.blocks_of(0) == 2);
  REQUIRE(kv.store(0, 9));
  CHECK(kv.blocks_of(0) == 3);
  CHECK(kv.usage().tokens_stored == 9);
  CHECK(kv.usage().free_blocks == 1);
  kv.check();
  kv.release(0);
  CHECK(kv.usage().free_blocks == 4);
  CHECK(kv.usage().tokens_stored == 0);
  kv.check();
}

TEST_CASE("A refused block changes nothing", "[unit]") {
  CountedKv kv(2, 4);
  kv.admit(3, {8, 8, 8});
  REQUIRE(kv.store(3, 8));
  CHECK_FALSE(kv.store(3, 9));
  CHECK(kv.usage().tokens_stored == 8);
  CHECK(kv.blocks_of(3) == 2);
  kv.check();
}

TEST_CASE("Admission leaves the spare blocks free", "[unit]") {
  CountedKv kv(10, 4);
  CHECK(kv.can_admit({32, 1, 32}, 2));
  CHECK_FALSE(kv.can_admit({33, 1, 33}, 2));
  CHECK(kv.can_admit({33, 1, 33}, 1));
}

TEST_CASE("The last token needs no room: it is never fed back", "[unit]") {
  CountedKv kv(2, 4);
  CHECK(kv.ever_fits({5, 4, 5}, 0));        // stores 8
  CHECK_FALSE(kv.ever_fits({5, 5, 5}, 0));  // stores 9
  CHECK_FALSE(kv.ever_fits({5, 4, 5}, 1));  // 2 blocks at once and one left
}
