#include "sim/kv/paged_kv.h"

#include "sim/kv/block_hash.h"
#include "tests/support/catch.h"

using namespace headway;
using Ids = std::vector<BlockId>;

namespace {

Request of_group(std::uint64_t id, std::int64_t group, std::int32_t shared, std::int32_t prompt) {
  Request r;
  r.id = id;
  r.prompt_tokens = prompt;
  r.prefix_group = group;
  r.prefix_tokens = shared;
  return r;
}

PagedKvOptions options(std::int64_t blocks, bool caching) {
  return {.num_blocks = blocks, .block_size = 4, .max_model_len = 64, .prefix_caching = caching};
}

// Prefills a whole prompt.
bool prefill(PagedKv& kv, std::uint32_t slot, std::int32_t tokens) {
  const PrefixHit hit = kv.lookup(slot, tokens);
  return kv.allocate(slot, {hit.tokens, tokens - hit.tokens, 0, tokens}, hit);
}

}  // namespace

TEST_CASE("blocks are taken at block boundaries and lookahead counts", "[unit][kv]") {
  PagedKv kv(options(9, false));
  const Request r = of_group(0, -1, 0, 6);
  kv.open(0, r);
  REQUIRE(kv.allocate(0, {0, 6, 0, 6}));
  REQUIRE(kv.table(0) == Ids{1, 2});
  REQUIRE(kv.allocate(0, {6, 2, 0, 8}));  // fills the second block
  REQUIRE(kv.table(0).size() == 2);
  REQUIRE(kv.allocate(0, {8, 1, 4, 9}));  // 13 slots: two more blocks
  REQUIRE(kv.table(0) == Ids{1, 2, 3, 4});
  REQUIRE(kv.usage().tokens_stored == 9);
  kv.roll_back(0, 1);
  REQUIRE(kv.usage().tokens_stored == 8);
  REQUIRE(kv.table(0).size() == 4);  // a rejected draft keeps its block
  kv.check();
  kv.free(0);
  REQUIRE(kv.pool().free_queue() == Ids{5, 6, 7, 8, 4, 3, 2, 1});  // tail first
  REQUIRE(kv.usage().tokens_stored == 0);
}

TEST_CASE("no slots beyond max_model_len", "[unit][kv]") {
  PagedKv kv({.num_blocks = 9, .block_size = 4, .max_model_len = 10});
  const Request r = of_group(0, -1, 0, 9);
  kv.open(0, r);
  REQUIRE(kv.allocate(0, {0, 9, 8, 9}));
  REQUIRE(kv.table(0).size() == 3);
}

TEST_CASE("a refused allocation changes nothing", "[unit][kv]") {
  PagedKv kv(options(4, true));
  const Request a = of_group(0, 1, 8, 8);
  const Request b = of_group(1, 1, 8, 16);
  kv.open(0, a);
  kv.open(1, b);
  REQUIRE(prefill(kv, 0, 8));
  kv.free(0);
  const auto before = kv.pool().free_queue();
  // Two hits sit in the free queue: four blocks of three free ones.
  REQUIRE_FALSE(kv.fits(1, {8, 8, 0, 16}, kv.lookup(1, 16)));
  REQUIRE_FALSE(prefill(kv, 1, 16));
  REQUIRE(kv.pool().free_queue() == before);
  REQUIRE(kv.table(1).empty());
  kv.check();
}

TEST_CASE("a prefix is shared in the same step, by whole blocks, one token short of the prompt",
          "[unit][kv]") {
  PagedKv kv(options(17, true));
  const Request a = of_group(0, 1, 12, 13);
  const Request b = of_group(1, 1, 12, 15);
  const Request c = of_group(2, 1, 12, 12);
  kv.open(0, a);
  kv.open(1, b);
  kv.open(2, c);
  REQUIRE(prefill(kv, 0, 13));
  REQUIRE(prefill(kv, 1, 15));
  REQUIRE(prefill(kv, 2, 12));
  REQUIRE(kv.table(0) == Ids{1, 2, 3, 4});
  REQUIRE(kv.table(1) == Ids{1, 2, 3, 5});
  REQUIRE(kv.table(2) == Ids{1, 2, 6});  // its last token must be computed
  REQUIRE(kv.common_prefix_blocks(0) == 2);
  REQUIRE(kv.usage().held_blocks == 6);
  REQUIRE(kv.usage().tokens_stored == 12 + 1 + 3 + 4);
  kv.free(0);
  REQUIRE(kv.usage().tokens_stored == 12 + 3 + 4);
  kv.check();
}

TEST_CASE("EAGLE drops the last matched block", "[unit][kv]") {
  PagedKvOptions with_drop = options(17, true);
  with_drop.drop_last_hit = true;
  PagedKv kv(with_drop);
  const Request a = of_group(0, 1, 12, 13);
  const Request b = of_group(1, 1, 12, 13);
  kv.open(0, a);
  kv.open(1, b);
  REQUIRE(prefill(kv, 0, 13));
  REQUIRE(kv.lookup(1, 13).tokens == 8);
}

TEST_CASE("block hashes agree exactly where tokens do", "[unit][kv]") {
  // The shortcut by source and the slow path must name equal blocks equally.
  const Request a = of_group(0, 7, 10, 20);
  const Request b = of_group(1, 7, 9, 20);
  REQUIRE(block_content(a, 0, 4) == block_content(b, 0, 4));
  REQUIRE(block_content(a, 4, 4) == block_content(b, 4, 4));
  REQUIRE(block_content(a, 8, 4) != block_content(b, 8, 4));  // 8, 9 | own against 8 | own
  REQUIRE(block_content(a, 12, 4) != block_content(b, 12, 4));

  // A prompt named by ids of 8 tokens, then its own answer.
  Request c;
  c.id = 2;
  c.prompt_tokens = 14;
  c.content_granularity = 8;
  c.content_ids = {100, 200};
  Request d = c;
  d.id = 3;
  REQUIRE(block_content(c, 4, 4) == block_content(d, 4, 4));
  REQUIRE(block_content(c, 8, 4) == block_content(d, 8, 4));
  REQUIRE(block_content(c, 8, 4) != block_content(c, 0, 4));
  REQUIRE(block_content(c, 12, 4) != block_content(d, 12, 4));  // two tokens each of their own
  // A longer prompt that goes on within the same id shares what the shorter one has in full.
  Request e = c;
  e.prompt_tokens = 16;
  REQUIRE(block_content(c, 8, 4) == block_content(e, 8, 4));
  REQUIRE(block_content(c, 12, 4) != block_content(e, 12, 4));

  // Turns of a session are one growing text, whatever was prompt and what was answer.
  Request first;
  first.id = 4;
  first.session_id = 9;
  first.prompt_tokens = 6;
  Request second = first;
  second.id = 5;
  second.prompt_tokens = 16;
  REQUIRE(block_content(first, 4, 4) == block_content(second, 4, 4));
}
