// PagedKv under layouts of several groups.
#include "sim/kv/group_tables.h"

#include "sim/kv/paged_kv.h"
#include "tests/support/catch.h"

using namespace headway;
using Ids = std::vector<BlockId>;

namespace {

constexpr KvGroup kFull{.kind = KvKind::kFull, .layers = 1, .block_size = 4};
constexpr KvGroup kWindow{.kind = KvKind::kWindow, .layers = 1, .window = 9, .block_size = 4};
constexpr KvGroup kState{.kind = KvKind::kState, .layers = 1, .block_size = 4};

Request of_group(std::uint64_t id, std::int32_t shared, std::int32_t prompt) {
  Request r;
  r.id = id;
  r.prompt_tokens = prompt;
  r.prefix_group = 1;
  r.prefix_tokens = shared;
  return r;
}

PagedKvOptions options(std::int64_t blocks, std::vector<KvGroup> groups, bool caching) {
  PagedKvOptions o{.num_blocks = blocks, .block_size = 4, .max_model_len = 256};
  o.prefix_caching = caching;
  o.layout.groups = std::move(groups);
  o.layout.block_size = 4;
  for (const KvGroup& g : o.layout.groups) {
    if (g.kind == KvKind::kState) o.layout.recurrent = true;
  }
  return o;
}

std::int32_t prefill(PagedKv& kv, std::uint32_t slot, std::int32_t tokens) {
  const PrefixHit hit = kv.lookup(slot, tokens);
  REQUIRE(kv.allocate(slot, {hit.tokens, tokens - hit.tokens, 0, tokens}, hit));
  return hit.tokens;
}

}  // namespace

TEST_CASE("a window's old blocks go back and the null block stands in their place", "[unit][kv]") {
  PagedKv kv(options(100, {kFull, kWindow}, false));
  const Request r = of_group(0, 0, 10);
  kv.open(0, r);
  prefill(kv, 0, 10);
  CHECK(kv.groups()->table(0, 0) == Ids{1, 2, 3});
  CHECK(kv.groups()->table(0, 1) == Ids{4, 5, 6});
  for (std::int32_t t = 10; t < 13; ++t) REQUIRE(kv.allocate(0, {t, 1, 0, t + 1}));
  // Token 12 sees tokens 4 to 12. Its blocks were taken before the first one could be used again.
  CHECK(kv.groups()->table(0, 0) == Ids{1, 2, 3, 7});
  CHECK(kv.groups()->table(0, 1) == Ids{0, 5, 6, 8});
  CHECK(kv.pool().references(4) == 0);
  CHECK(kv.usage().held_blocks == 7);
  CHECK(kv.usage().tokens_stored == 13);
  kv.check();
  std::int64_t most = 0;
  for (std::int32_t t = 13; t < 200; ++t) {
    REQUIRE(kv.allocate(0, {t, 1, 0, t + 1}));
    most = std::max(most, kv.usage().held_blocks - (t + 4) / 4);
  }
  CHECK(most == 3);  // nine tokens, wherever they begin
  kv.check();
  kv.free(0);
  CHECK(kv.usage().held_blocks == 0);
  kv.check();
}

TEST_CASE("a prefix is found where full attention has all of it and the window its end",
          "[unit][kv]") {
  PagedKv kv(options(100, {kFull, kWindow}, true));
  const Request a = of_group(0, 24, 25), b = of_group(1, 24, 30);
  kv.open(0, a);
  kv.open(1, b);
  CHECK(prefill(kv, 0, 25) == 0);
  CHECK(prefill(kv, 1, 30) == 24);
  // The window of token 24 begins at 16: two of its six blocks are shared, the others are nobody's.
  const Ids& first = kv.groups()->table(0, 1);
  const Ids& second = kv.groups()->table(1, 1);
  CHECK(Ids(second.begin(), second.begin() + 6) == Ids{0, 0, 0, 0, first[4], first[5]});
  CHECK(kv.groups()->table(1, 0)[0] == kv.groups()->table(0, 0)[0]);
  kv.check();
}

TEST_CASE("a prefix whose window has been evicted is found as far as another window is cached",
          "[unit][kv]") {
  // 6 + 6 blocks of the prompt and one each for its last token, of 14 that there are.
  PagedKv kv(options(15, {kFull, kWindow}, true));
  const Request a = of_group(0, 24, 25), b = of_group(1, 0, 8), c = of_group(2, 24, 25);
  kv.open(0, a);
  kv.open(1, b);
  kv.open(2, c);
  prefill(kv, 0, 25);
  kv.free(0);
  // Of the free blocks, those of full attention came first, the end of the prompt ahead of its head.
  prefill(kv, 1, 8);
  kv.free(1);
  const PrefixHit hit = kv.lookup(2, 25);
  CHECK(hit.tokens % 4 == 0);
  CHECK(hit.tokens > 0);
  CHECK(hit.tokens < 24);
  REQUIRE(kv.allocate(2, {hit.tokens, 25 - hit.tokens, 0, 25}, hit));
  kv.check();
}

TEST_CASE("a window alone: a prefix needs no more than its end", "[unit][kv]") {
  PagedKv kv(options(100, {kWindow}, true));
  const Request a = of_group(0, 40, 41), b = of_group(1, 40, 41);
  kv.open(0, a);
  kv.open(1, b);
  for (std::int32_t t = 0; t < 40; t += 8) REQUIRE(kv.allocate(0, {t, 8, 0, 41}));
  REQUIRE(kv.allocate(0, {40, 1, 0, 41}));
  CHECK(kv.groups()->blocks_of(0) == 3);  // of eleven
  CHECK(prefill(kv, 1, 41) == 40);
  CHECK(kv.usage().held_blocks == 4);  // two are shared
  kv.check();
}

TEST_CASE("groups of unlike block sizes agree on whole blocks of each", "[unit][kv]") {
  KvGroup wide = kWindow;
  wide.block_size = 8;
  PagedKv kv(options(100, {kFull, wide}, true));
  const Request a = of_group(0, 36, 40), b = of_group(1, 36, 40);
  kv.open(0, a);
  kv.open(1, b);
  prefill(kv, 0, 40);
  CHECK(kv.groups()->table(0, 1).size() == 5);
  CHECK(prefill(kv, 1, 40) == 32);  // 36 are the same
  kv.check();
}

TEST_CASE("states take a block a sequence and no prefix is kept", "[unit][kv]") {
  PagedKv kv(options(100, {kState, kFull}, true));
  const Request a = of_group(0, 16, 17), b = of_group(1, 16, 17);
  kv.open(0, a);
  kv.open(1, b);
  CHECK(prefill(kv, 0, 17) == 0);
  CHECK(prefill(kv, 1, 17) == 0);
  CHECK(kv.usage().held_blocks == 2 * (1 + 5));
  for (std::int32_t t = 17; t < 60; ++t) REQUIRE(kv.allocate(0, {t, 1, 0, t + 1}));
  CHECK(kv.groups()->blocks_of(0) == 1 + 15);
  kv.check();
}

TEST_CASE("what steps take ahead is what they take, and all at once is one by one", "[unit][kv]") {
  KvGroup eleven = kWindow;  // slides in other steps than those that take a block
  eleven.window = 11;
  for (const bool caching : {false, true}) {
    PagedKvOptions o = options(200, {kFull, kWindow, eleven, eleven}, caching);
    o.counts_only = !caching;
    PagedKv stepping(o), jumping(o);
    const Request r = of_group(0, 0, 40), q = of_group(1, 0, 23);
    for (PagedKv* kv : {&stepping, &jumping}) {
      kv->open(0, r);
      kv->open(1, q);
      prefill(*kv, 0, 40);
      prefill(*kv, 1, 23);
      // A decode step, so that the windows have let go of the prompt.
      REQUIRE(kv->allocate(0, {40, 1, 0, 41}));
      REQUIRE(kv->allocate(1, {23, 1, 0, 24}));
    }
    const std::uint32_t slots[] = {0, 1};
    std::vector<std::int32_t> change;
    const std::int64_t steps = stepping.groups()->growth(slots, 100, change);
    CHECK(steps > 20);
    REQUIRE(change.size() == 4);
    std::int64_t gone = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t free = stepping.pool().free_blocks();
      const auto t = static_cast<std::int32_t>(step);
      REQUIRE(stepping.allocate(0, {41 + t, 1, 0, 42 + t}));
      REQUIRE(stepping.allocate(1, {24 + t, 1, 0, 25 + t}));
      const std::int64_t taken = free - stepping.pool().free_blocks();
      REQUIRE(taken == change[static_cast<std::size_t>(step % 4)]);
      gone += taken < 0 ? 1 : 0;
    }
    CHECK(gone > 0);
    if (caching) continue;
    for (const std::uint32_t slot : slots) jumping.groups()->grow(slot, steps);
    CHECK(jumping.pool().free_blocks() == stepping.pool().free_blocks());
    CHECK(jumping.usage().tokens_stored == stepping.usage().tokens_stored);
    jumping.check();
  }
}
