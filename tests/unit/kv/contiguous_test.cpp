#include "sim/kv/contiguous.h"

#include "tests/support/catch.h"

using namespace headway;

namespace {
// Block size 1 throughout: a block is a token, and the numbers below can be read as addresses.
ContiguousKv make(std::int64_t blocks, ReservationRule rule, std::int32_t max_model_len = 16) {
  return ContiguousKv(blocks, 1, max_model_len, rule);
}
AdmissionDemand demand(std::int32_t prompt, std::int32_t output) {
  return {prompt, output, prompt};
}
}  // namespace

TEST_CASE("Reservation rules decide how much a sequence takes", "[unit]") {
  CHECK(make(64, ReservationRule::kMax).reservation(demand(3, 5)) == 16);
  CHECK(make(64, ReservationRule::kExact).reservation(demand(3, 5)) == 8);
  CHECK(make(64, ReservationRule::kPow2).reservation(demand(3, 5)) == 11);   // 3 + 8
  CHECK(make(64, ReservationRule::kPow2).reservation(demand(3, 4)) == 7);    // 4 is a power
  CHECK(make(64, ReservationRule::kPow2).reservation(demand(10, 5)) == 16);  // 18, capped
  const ContiguousKv in_blocks(10, 4, 16, ReservationRule::kExact);
  CHECK(in_blocks.reservation(demand(3, 6)) == 3);  // 9 tokens in blocks of 4
  CHECK(make(64, ReservationRule::kMax).max_sequences() == 4);
  CHECK(parse_reservation_rule("reserve-pow2") == ReservationRule::kPow2);
  CHECK_FALSE(parse_reservation_rule("paged"));
}

TEST_CASE("First fit takes the lowest run that is long enough", "[unit]") {
  ContiguousKv kv = make(20, ReservationRule::kExact);
  kv.admit(0, demand(3, 1));  // 0..3
  kv.admit(1, demand(5, 1));  // 4..9
  kv.admit(2, demand(2, 1));  // 10..12
  CHECK(kv.address_of(0) == 0);
  CHECK(kv.address_of(1) == 4);
  CHECK(kv.address_of(2) == 10);
  kv.release(0);
  kv.admit(3, demand(4, 1));  // 5 do not fit into 0..3
  CHECK(kv.address_of(3) == 13);
  kv.admit(4, demand(3, 1));
  CHECK(kv.address_of(4) == 0);
  kv.check();
}

TEST_CASE("Free but scattered memory admits no long sequence, until neighbours coalesce",
          "[unit]") {
  ContiguousKv kv = make(12, ReservationRule::kExact);
  for (std::uint32_t slot = 0; slot < 4; ++slot) kv.admit(slot, demand(2, 1));  // 3 each
  CHECK(kv.free_blocks() == 0);
  kv.release(0);
  kv.release(2);
  // Free: 0..2 and 6..8. Six blocks in two runs of three.
  CHECK(kv.usage().free_blocks == 6);
  CHECK(kv.usage().largest_free_run == 3);
  CHECK(kv.can_admit(demand(2, 1), 0));
  CHECK_FALSE(kv.can_admit(demand(3, 1), 0));
  CHECK(kv.ever_fits(demand(3, 1), 0));
  kv.release(1);  // joins the runs on both of its sides
  CHECK(kv.usage().largest_free_run == 9);
  CHECK(kv.can_admit(demand(8, 1), 0));
  kv.check();
  kv.release(3);
  CHECK(kv.usage().largest_free_run == 12);
  kv.check();
}

TEST_CASE("Internal fragmentation splits into what comes later and what never comes", "[unit]") {
  ContiguousKv kv = make(32, ReservationRule::kMax);
  kv.admit(7, demand(4, 3));  // reserves 16; stores 4 + 3 - 1 = 6 in the end
  CHECK(kv.usage().tokens_reserved_later == 6);
  CHECK(kv.usage().tokens_never_used == 10);
  REQUIRE(kv.store(7, 4));
  CHECK(kv.usage().tokens_stored == 4);
  CHECK(kv.usage().tokens_reserved_later == 2);
  REQUIRE(kv.store(7, 5));
  REQUIRE(kv.store(7, 6));
  const KvUsage usage = kv.usage();
  CHECK(usage.held_blocks == 16);
  CHECK(usage.tokens_stored == 6);
  CHECK(usage.tokens_reserved_later == 0);
  CHECK(usage.tokens_never_used == 10);
  kv.check();
}

TEST_CASE("Retained reservations stay held after their sequence ended", "[unit]") {
  ContiguousKv kv = make(32, ReservationRule::kMax);
  kv.admit(0, demand(4, 3));
  kv.retain(0);
  CHECK(kv.usage().held_blocks == 16);
  kv.admit(0, demand(1, 1));  // the slot is free for another sequence
  kv.check();
  CHECK_FALSE(kv.can_admit(demand(1, 1), 0));
  kv.release_retained();
  kv.check();
  CHECK(kv.can_admit(demand(1, 1), 0));
  kv.release(0);
  CHECK(kv.usage().largest_free_run == 32);
  kv.check();
}

TEST_CASE("A reservation longer than the whole range never fits", "[unit]") {
  CHECK_FALSE(make(15, ReservationRule::kMax).ever_fits(demand(1, 1), 0));
  CHECK(make(16, ReservationRule::kMax).ever_fits(demand(1, 1), 0));
}
