// Counted and reserved KV: sequences that grow together against the same ones grown one by one.
#include <memory>
#include <set>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "sim/kv/contiguous.h"
#include "sim/kv/counted_kv.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

constexpr std::int32_t kBlock = 4;
constexpr AdmissionDemand kDemand{30, 300, 30};

struct Pair {
  std::unique_ptr<KvStore> together, alone;
  std::vector<std::int32_t> stored = std::vector<std::int32_t>(12, 0);

  void admit(std::uint32_t slot, std::int32_t prompt) {
    for (KvStore* kv : {together.get(), alone.get()}) {
      kv->admit(slot, {prompt, 300, prompt});
      REQUIRE(kv->store(slot, prompt));
    }
    stored[slot] = prompt;
  }
  void same() const {
    together->check();
    alone->check();
    const KvUsage a = together->usage(), b = alone->usage();
    REQUIRE(a.free_blocks == b.free_blocks);
    REQUIRE(a.tokens_stored == b.tokens_stored);
    REQUIRE(a.tokens_reserved_later == b.tokens_reserved_later);
    for (std::uint32_t slot = 0; slot < stored.size(); ++slot) {
      REQUIRE(together->blocks_of(slot) == alone->blocks_of(slot));
    }
  }
};

// Sequences come, grow for a while together, and go.
void churn(Pair& pair, std::uint64_t seed) {
  RandomStream stream(seed, "gathered KV");
  std::set<std::uint32_t> gathered;
  for (int turn = 0; turn < 60; ++turn) {
    const auto slot = static_cast<std::uint32_t>(stream.uniform_int(0, 11));
    if (gathered.erase(slot) > 0) {
      pair.together->scatter(slot);
      REQUIRE(pair.together->room(slot) == pair.alone->room(slot));
      pair.together->release(slot);
      pair.alone->release(slot);
      pair.stored[slot] = 0;
    } else if (pair.alone->can_admit(kDemand, 0)) {
      pair.admit(slot, static_cast<std::int32_t>(stream.uniform_int(1, 30)));
      pair.together->gather(slot);
      gathered.insert(slot);
    }
    pair.same();
    const std::int64_t ticks = stream.uniform_int(0, stream.uniform() < 0.3 ? 11 : 2);
    std::vector<std::int32_t> ahead(kBlock);
    pair.together->blocks_ahead(ahead);
    for (std::int64_t tick = 0; tick < ticks; ++tick) {
      const std::int64_t free = pair.alone->free_blocks();
      for (const std::uint32_t s : gathered) REQUIRE(pair.alone->store(s, ++pair.stored[s]));
      const std::int64_t taken = free - pair.alone->free_blocks();
      REQUIRE(taken == ahead[static_cast<std::size_t>(tick % kBlock)]);
    }
    if (ticks > 0) REQUIRE(pair.together->blocks_next_tick() == ahead[0]);
    pair.together->tick(ticks);
    pair.same();
  }
}

}  // namespace

TEST_CASE("Counted blocks of sequences that grow together", "[unit][kv]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Pair pair{std::make_unique<CountedKv>(2000, kBlock), std::make_unique<CountedKv>(2000, kBlock)};
    churn(pair, seed);
  }
}

TEST_CASE("Reservations of sequences that grow together", "[unit][kv]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto make = [] {
      return std::make_unique<ContiguousKv>(1200, kBlock, 400, ReservationRule::kMax);
    };
    Pair pair{make(), make()};
    churn(pair, seed);
  }
}

TEST_CASE("A gathered sequence is not released by itself", "[unit][kv]") {
  CountedKv kv(10, kBlock);
  kv.admit(0, {5, 5, 5});
  REQUIRE(kv.store(0, 5));
  kv.gather(0);
  CHECK_THROWS_AS(kv.release(0), InternalError);
  CHECK_THROWS_AS(kv.gather(0), InternalError);
  kv.scatter(0);
  CHECK_THROWS_AS(kv.scatter(0), InternalError);
  kv.release(0);
  kv.check();
}
