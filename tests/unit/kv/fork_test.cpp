// Tables that share blocks by reference, and copy the last one when they write into it.
#include "sim/kv/paged_kv.h"
#include "tests/support/catch.h"

using namespace headway;
using Ids = std::vector<BlockId>;

namespace {

constexpr std::int32_t kPrompt = 18;  // four and a half blocks of 4

Request prompt_of(std::int32_t tokens) {
  Request r;
  r.id = 7;
  r.prompt_tokens = tokens;
  return r;
}

// Slots 0, 1, 2 share what slot 0 has computed of the prompt.
struct Three {
  Request request;
  PagedKv kv;

  Three(std::int64_t usable_blocks, std::int32_t prompt, bool caching = false)
      : request(prompt_of(prompt)),
        kv({.num_blocks = usable_blocks + 1,
            .block_size = 4,
            .max_model_len = 64,
            .prefix_caching = caching}) {
    for (std::int32_t i = 0; i < 3; ++i) kv.open(static_cast<std::uint32_t>(i), request, i);
    REQUIRE(kv.allocate(0, {0, prompt, 0, prompt}));
    kv.fork(0, 1);
    kv.fork(0, 2);
    kv.check();
  }
  bool decode(std::uint32_t slot, std::int32_t computed) {
    const bool given = kv.allocate(slot, {computed, 1, 0, computed + 1});
    kv.check();
    return given;
  }
  std::int64_t held() const { return kv.usage().held_blocks; }
};

}  // namespace

TEST_CASE("three samples of 4.5 blocks hold 5, then 4 and one each", "[unit][kv]") {
  Three t(20, kPrompt);
  REQUIRE(t.held() == 5);
  REQUIRE(t.kv.usage().table_blocks == 15);
  REQUIRE(t.kv.usage().tokens_stored == kPrompt);

  REQUIRE(t.decode(0, kPrompt));  // two others refer to block 5: a copy
  REQUIRE(t.kv.table(0) == Ids{1, 2, 3, 4, 6});
  REQUIRE(t.kv.copied_blocks() == 1);
  REQUIRE(t.decode(1, kPrompt));
  REQUIRE(t.kv.table(1) == Ids{1, 2, 3, 4, 7});
  REQUIRE(t.decode(2, kPrompt));  // the last one keeps the original
  REQUIRE(t.kv.table(2) == Ids{1, 2, 3, 4, 5});
  REQUIRE(t.kv.copied_blocks() == 2);
  REQUIRE(t.held() == 4 + 3);
  REQUIRE(t.kv.usage().tokens_stored == 16 + 3 * 3);

  REQUIRE(t.decode(0, 19));  // its own block by now
  REQUIRE(t.kv.copied_blocks() == 2);
  t.kv.free(0);
  REQUIRE(t.held() == 4 + 2);
  t.kv.free(1);
  t.kv.free(2);
  REQUIRE(t.held() == 0);
  REQUIRE(t.kv.usage().table_blocks == 0);
  REQUIRE(t.kv.usage().tokens_stored == 0);
  t.kv.check();
}

TEST_CASE("a prompt of whole blocks is forked without a copy", "[unit][kv]") {
  Three t(20, 16);
  for (std::uint32_t slot = 0; slot < 3; ++slot) REQUIRE(t.decode(slot, 16));
  REQUIRE(t.held() == 4 + 3);
  REQUIRE(t.kv.copied_blocks() == 0);
}

TEST_CASE("a copy needs a free block, unless the others have gone", "[unit][kv]") {
  Three t(5, kPrompt);
  REQUIRE_FALSE(t.decode(1, kPrompt));
  REQUIRE(t.held() == 5);
  REQUIRE(t.kv.usage().tokens_stored == kPrompt);
  t.kv.free(0);
  REQUIRE_FALSE(t.decode(1, kPrompt));
  t.kv.free(2);
  REQUIRE(t.decode(1, kPrompt));
  REQUIRE(t.kv.copied_blocks() == 0);
  REQUIRE(t.kv.table(1) == Ids{1, 2, 3, 4, 5});
}

TEST_CASE("a fork takes what is stored, not the slots beyond it", "[unit][kv]") {
  const Request r = prompt_of(6);
  PagedKv kv({.num_blocks = 20, .block_size = 4, .max_model_len = 64});
  kv.open(0, r, 0);
  kv.open(1, r, 1);
  REQUIRE(kv.allocate(0, {0, 6, 6, 6}));  // with look-ahead: three blocks
  kv.fork(0, 1);
  REQUIRE(kv.table(0).size() == 3);
  REQUIRE(kv.table(1) == Ids{1, 2});
  REQUIRE(kv.allocate(1, {6, 3, 0, 9}));  // the copy and one more
  REQUIRE(kv.table(1).size() == 3);
  REQUIRE(kv.copied_blocks() == 1);
  REQUIRE(kv.usage().held_blocks == 5);
  kv.check();
}

TEST_CASE("samples find their own answers in the prefix cache, and the prompt they share",
          "[unit][kv]") {
  Three t(20, kPrompt, true);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    for (std::int32_t computed = kPrompt; computed < 20; ++computed) {
      REQUIRE(t.decode(slot, computed));
    }
  }
  // The fifth block is full now and differs from sample to sample.
  const Ids own = t.kv.table(1);
  REQUIRE(own[4] != t.kv.table(0)[4]);
  t.kv.free(1);
  const PrefixHit hit = t.kv.lookup(1, 21);
  REQUIRE(hit.tokens == 20);
  REQUIRE(Ids(hit.blocks.begin(), hit.blocks.end()) == own);

  // A plain request for the same text finds the first sample's.
  t.kv.open(3, t.request);
  const PrefixHit again = t.kv.lookup(3, 21);
  REQUIRE(Ids(again.blocks.begin(), again.blocks.end()) == t.kv.table(0));
}

TEST_CASE("a fork of a fork shares the tail of its own parent", "[unit][kv]") {
  Three t(20, kPrompt);
  for (std::uint32_t slot = 0; slot < 3; ++slot) REQUIRE(t.decode(slot, kPrompt));
  t.kv.free(2);
  t.kv.fork(1, 2);
  t.kv.check();
  REQUIRE(t.held() == 4 + 2);
  REQUIRE(t.kv.table(2) == t.kv.table(1));
  REQUIRE(t.decode(0, 19));
  REQUIRE(t.decode(1, 19));
  REQUIRE(t.decode(2, 19));
  REQUIRE(t.held() == 4 + 3);
  REQUIRE(t.kv.copied_blocks() == 3);
}
