// The radix tree by hand, and against a list of everything that was put in.
#include "sim/kv/radix_cache.h"

#include <algorithm>

#include "sim/core/random.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

TokenText text(std::vector<std::uint64_t> ids) {
  Request request;
  request.prompt_tokens = static_cast<std::int32_t>(ids.size());
  request.content_granularity = 1;
  request.content_ids = std::move(ids);
  return std::make_shared<const Request>(std::move(request));
}

std::int32_t put(RadixCache& cache, const TokenText& t) {
  return cache.insert(t, t->prompt_tokens);
}

std::int32_t found(RadixCache& cache, const TokenText& t) {
  return cache.match(t, t->prompt_tokens).tokens;
}

}  // namespace

TEST_CASE("a radix cache finds the longest prefix, to the token", "[unit]") {
  RadixCache cache(1);
  CHECK(found(cache, text({1, 2})) == 0);
  CHECK(put(cache, text({1, 2, 3, 4, 5, 6})) == 0);
  CHECK(found(cache, text({1, 2, 3, 9})) == 3);
  CHECK(found(cache, text({1, 2, 3, 4, 5, 6, 7})) == 6);
  CHECK(found(cache, text({2, 3})) == 0);
  CHECK(cache.match(text({1, 2, 3, 4, 5, 6}), 5).tokens == 5);
  CHECK(put(cache, text({1, 2, 8})) == 2);
  CHECK(put(cache, text({1, 2, 8})) == 3);
  CHECK(cache.evictable_tokens() == 7);  // 1 2, then 3 4 5 6 or 8
  cache.check();
}

TEST_CASE("a radix cache of pages keeps and finds whole ones", "[unit]") {
  RadixCache cache(4);
  CHECK(put(cache, text({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})) == 0);
  CHECK(cache.evictable_tokens() == 8);
  CHECK(found(cache, text({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})) == 8);
  CHECK(found(cache, text({1, 2, 3, 4, 5, 6, 0, 0})) == 4);
  CHECK(found(cache, text({1, 2, 3})) == 0);
  CHECK(found(cache, text({1, 2, 3, 0, 5, 6, 7, 8})) == 0);
  cache.check();
}

TEST_CASE("eviction takes whole leaves, the least recently touched first", "[unit]") {
  RadixCache cache(1);
  const TokenText x = text({1, 2, 3});
  put(cache, x);
  put(cache, text({1, 2, 7, 8}));  // 1 2 above the leaves 3 (touched) and 7 8 (newer)
  SECTION("in the order they were made") {
    CHECK(cache.evict(1) == 1);
    CHECK(found(cache, x) == 2);
    CHECK(cache.evict(1) == 2);
    CHECK(cache.evict(1) == 2);  // 1 2 has become a leaf
    CHECK(cache.evict(1) == 0);
  }
  SECTION("a search refreshes what it finds") {
    CHECK(found(cache, x) == 3);
    CHECK(cache.evict(1) == 2);
    CHECK(found(cache, x) == 3);
  }
  SECTION("until enough is freed") { CHECK(cache.evict(2) == 3); }
  cache.check();
}

TEST_CASE("a split leaves the older stamp to the tail", "[unit]") {
  RadixCache cache(1);
  put(cache, text({1, 2, 3, 4}));
  put(cache, text({5, 6}));
  CHECK(found(cache, text({1, 2, 9})) == 2);  // touches 1 2 3 4, then cuts it: 1 2 is newer
  CHECK(found(cache, text({5, 6})) == 2);
  CHECK(cache.evict(1) == 2);  // 3 4
  CHECK(cache.evict(1) == 2);  // 1 2, which the search made before it touched 5 6
  CHECK(found(cache, text({5, 6})) == 2);
}

TEST_CASE("a locked path is protected, and no leaf of it goes", "[unit]") {
  RadixCache cache(1);
  const TokenText x = text({1, 2, 3});
  put(cache, x);
  put(cache, text({1, 2, 7, 8}));
  const auto match = cache.match(x, 3);
  cache.lock(match.node);
  cache.lock(match.node);
  CHECK(cache.protected_tokens() == 3);
  CHECK(cache.evictable_tokens() == 2);
  CHECK(cache.evict(100) == 2);
  cache.unlock(match.node);
  CHECK(cache.evict(100) == 0);
  CHECK(found(cache, text({1, 9})) == 1);  // a split keeps the lock on both parts
  CHECK(cache.protected_tokens() == 3);
  cache.check();
  cache.unlock(match.node);
  CHECK(cache.evict(100) == 3);
  cache.check();
}

TEST_CASE("children keep their order of insertion, a split its place", "[unit]") {
  RadixCache cache(1);
  put(cache, text({1, 2}));
  put(cache, text({3, 4}));
  const auto last = cache.match(text({3, 4}), 2).node;
  const auto first = cache.match(text({1, 5}), 1).node;  // cuts the first child
  CHECK(cache.first_child(RadixCache::kRoot) == first);
  CHECK(cache.next_sibling(first) == last);
  CHECK(cache.next_sibling(last) == RadixCache::kRoot);
}

TEST_CASE("a radix cache agrees with a list of what was put in", "[unit]") {
  RandomStream draw(7, "radix cache test");
  for (int round = 0; round < 200; ++round) {
    const auto page = static_cast<std::int32_t>(draw.uniform_int(1, 3));
    RadixCache cache(page);
    std::vector<std::vector<std::uint64_t>> inside;
    std::vector<RadixCache::NodeId> locked;
    for (int i = 0; i < 30; ++i) {
      std::vector<std::uint64_t> ids(static_cast<std::size_t>(draw.uniform_int(1, 12)));
      for (auto& id : ids) id = static_cast<std::uint64_t>(draw.uniform_int(0, 1));
      std::size_t longest = 0;
      for (const auto& other : inside) {
        const auto end = std::mismatch(ids.begin(), ids.end(), other.begin(), other.end()).first;
        longest = std::max(longest, static_cast<std::size_t>(end - ids.begin()));
      }
      const auto whole = static_cast<std::int32_t>(longest) / page * page;
      const TokenText t = text(ids);
      REQUIRE(found(cache, t) == whole);
      if (draw.uniform() < 0.5) {
        REQUIRE(put(cache, t) == whole);
        ids.resize(ids.size() / static_cast<std::size_t>(page) * static_cast<std::size_t>(page));
        inside.push_back(ids);
      }
      locked.push_back(cache.match(t, t->prompt_tokens).node);
      cache.lock(locked.back());
      cache.check();
    }
    const std::int64_t held = cache.protected_tokens();
    const std::int64_t spare = cache.evictable_tokens();
    REQUIRE(cache.evict(spare + 1) == spare);
    for (const auto node : locked) cache.unlock(node);
    REQUIRE(cache.evict(held) == held);
    cache.check();
  }
}
