#include "kernels/ops/split_plan.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "kernels/ops/test_data.h"
#include "tests/support/catch.h"

namespace headway::kernels {
namespace {

using Lengths = std::vector<std::int32_t>;

std::int32_t longest_item(const SplitPlan& plan) {
  std::int32_t longest = 0;
  for (const SplitItem& item : plan.items) longest = std::max(longest, item.end - item.begin);
  return longest;
}

// Every token from `first` to the length in exactly one item, partial results numbered without
// gaps.
void check_cover(const SplitPlan& plan, const Lengths& lengths, const Lengths& first, int tile) {
  std::map<std::int32_t, std::vector<SplitItem>> of;
  for (const SplitItem& item : plan.items) of[item.sequence].push_back(item);
  REQUIRE(of.size() == lengths.size());
  REQUIRE(plan.first_partial.size() == lengths.size() + 1);
  std::int32_t next_partial = 0;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    std::vector<SplitItem>& items = of[static_cast<std::int32_t>(s)];
    std::sort(items.begin(), items.end(),
              [](const SplitItem& a, const SplitItem& b) { return a.begin < b.begin; });
    CHECK(plan.first_partial[s] == next_partial);
    std::int32_t token = first[s];
    for (const SplitItem& item : items) {
      CHECK(item.begin == token);
      CHECK(item.partial == (items.size() == 1 ? -1 : next_partial++));
      if (item.end != lengths[s]) CHECK((item.end - item.begin) % tile == 0);
      token = item.end;
    }
    CHECK(token == lengths[s]);
    CHECK(plan.first_partial[s + 1] == next_partial);
  }
  CHECK(plan.partial_count() == next_partial);
}

TEST_CASE("a split-KV plan covers every token once, whatever the batch", "[unit][kernels]") {
  TestRandom random(17);
  for (int round = 0; round < 200; ++round) {
    Lengths lengths(static_cast<std::size_t>(1 + random.below(40)));
    for (std::int32_t& length : lengths) {
      length = random.below(5) == 0 ? 0 : random.below(1 << (4 + random.below(14)));
    }
    const int units = 1 + random.below(16);
    const int slots = 1 + random.below(300);
    INFO("round " << round);
    check_cover(plan_split_kv(lengths, 1, 0, units, slots, 64), lengths, Lengths(lengths.size(), 0),
                64);
  }
}

TEST_CASE("a split-KV plan gives a small batch about the blocks that fit", "[unit][kernels]") {
  // 264 slots / 8 KV heads = 33 items; 16384 / 33 = 497 tokens, so chunks of 512 and 32 of them.
  const SplitPlan one = plan_split_kv({16384}, 1, 0, 8, 264, 64);
  CHECK(one.items.size() == 32);
  CHECK(longest_item(one) == 512);
  // Four sequences: 8 items each.
  CHECK(plan_split_kv(Lengths(4, 16384), 1, 0, 8, 264, 64).items.size() == 32);
  // Never less than two tiles: 300 tokens are three pieces of 128 at most.
  CHECK(plan_split_kv({300}, 1, 0, 1, 264, 64).items.size() == 3);
  CHECK(plan_split_kv({128}, 1, 0, 1, 264, 64).partial_count() == 0);
}

TEST_CASE("a split-KV plan leaves an even batch that fills the GPU alone", "[unit][kernels]") {
  const SplitPlan even = plan_split_kv(Lengths(64, 4096), 1, 0, 8, 264, 64);
  CHECK(even.items.size() == 64);
  CHECK(even.partial_count() == 0);
  // 33 sequences fit exactly; one less and there is still no room for a second piece of each.
  CHECK(plan_split_kv(Lengths(32, 4096), 1, 0, 8, 264, 64).partial_count() == 0);
}

TEST_CASE("a split-KV plan cuts up the one long sequence of a full batch", "[unit][kernels]") {
  Lengths lengths(64, 128);
  lengths[20] = 131072;
  const SplitPlan plan = plan_split_kv(lengths, 1, 0, 8, 264, 64);
  check_cover(plan, lengths, Lengths(64, 0), 64);
  // 128 items: 63 short sequences leave 65 for the long one; 131072 / 65 = 2016.5, chunks of 2048.
  CHECK(longest_item(plan) == 2048);
  CHECK(plan.partial_count() == 64);
  CHECK(plan.items.front().sequence == 20);  // longest first
  CHECK(plan.items.back().end == 128);
}

TEST_CASE("a split-KV plan begins where the window of the oldest query does", "[unit][kernels]") {
  const Lengths lengths{1000, 60, 0, 4000};
  check_cover(plan_split_kv(lengths, 1, 100, 8, 8, 64), lengths, {900, 0, 0, 3900}, 64);
  // Three queries: the oldest is token 997 and sees 898 .. 997.
  check_cover(plan_split_kv(lengths, 3, 100, 8, 8, 64), lengths, {898, 0, 0, 3898}, 64);
  CHECK(plan_split_kv({0}, 1, 0, 8, 264, 64).items.size() == 1);  // its outputs are set to zero
}

}  // namespace
}  // namespace headway::kernels
