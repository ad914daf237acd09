#include "sim/kv/vllm_v0_allocator.h"

#include <array>

#include "tests/support/catch.h"

using namespace headway;

namespace {
constexpr std::int32_t kSize = 4;
// Chain hashes of the blocks of two prompts; the first two blocks are common.
constexpr std::uint64_t kP0 = 11, kP1 = 12, kA2 = 13, kB2 = 14;
}  // namespace

TEST_CASE("V0 blocks without caching come back last in, first out", "[unit]") {
  VllmV0Allocator blocks(4, kSize, false);
  CHECK(blocks.take() == 0);
  CHECK(blocks.take() == 1);
  CHECK(blocks.take_full(kP0, 4) == 2);
  CHECK(blocks.take_full(kP0, 4) == 3);  // equal content is no reason to share
  blocks.release(1, true);
  blocks.release(3, true);
  CHECK(blocks.take() == 3);
  CHECK(blocks.take() == 1);
  CHECK(blocks.free_blocks() == 0);
  blocks.check();
}

TEST_CASE("V0 shares a full block at once but counts it as computed only after the plan",
          "[unit]") {
  VllmV0Allocator blocks(8, kSize, true);
  const std::array<std::uint64_t, 2> chain = {kP0, kP1};
  CHECK(blocks.take_full(kP0, 4) == 0);
  CHECK(blocks.take_full(kP1, 8) == 1);
  CHECK(blocks.computed_prefix(chain) == 0);
  CHECK(blocks.take_full(kP0, 4) == 0);  // another prompt of the same step
  CHECK(blocks.references(0) == 2);
  blocks.mark_computed();
  CHECK(blocks.computed_prefix(chain) == 2);
  blocks.check();
}

TEST_CASE("V0 exchanges a block that fills up with cached content", "[unit]") {
  VllmV0Allocator blocks(8, kSize, true);
  const auto cached = blocks.take_full(kP0, 4);
  const auto mine = blocks.take();
  CHECK(blocks.fill(mine, kP0, 4) == cached);
  CHECK(blocks.references(cached) == 2);
  CHECK(blocks.references(mine) == 0);
  CHECK(blocks.take() == mine);  // it went back to the stack
  blocks.check();
}

TEST_CASE("V0 evicts the least recently used block, of equals the deepest", "[unit]") {
  VllmV0Allocator blocks(4, kSize, true);
  const std::array<VllmV0Allocator::Id, 3> a = {blocks.take_full(kP0, 4), blocks.take_full(kP1, 8),
                                                blocks.take_full(kA2, 12)};
  const auto b = blocks.take_full(kB2, 4);
  blocks.mark_accessed(a, 20);
  blocks.mark_accessed(std::array{b}, 10);
  for (const auto id : a) blocks.release(id, true);
  blocks.release(b, true);
  CHECK(blocks.cached_blocks() == 4);
  CHECK(blocks.take() == b);                // used at 10
  CHECK(blocks.take() == a[2]);             // all at 20: 12 tokens deep
  CHECK(blocks.take_full(kP0, 4) == a[0]);  // still there
  CHECK_FALSE(blocks.would_take(kP0));
  CHECK(blocks.would_take(kP1));  // cached, but free until somebody takes it
  CHECK(blocks.would_take(kA2));  // gone
  CHECK(blocks.take() == a[1]);
  CHECK(blocks.free_blocks() == 0);
  blocks.check();
}
