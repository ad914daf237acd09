#include "sim/routing/prefix_tree.h"

#include <algorithm>
#include <map>
#include <set>

#include "sim/core/random.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

using Prompt = std::vector<PromptRun>;
const std::vector<bool> kAll(8, true);

// Blocks of four tokens, by name.
Prompt blocks(const std::string& names) {
  Prompt prompt;
  for (const char name : names) prompt.push_back({static_cast<std::uint64_t>(name), 0, 4});
  return prompt;
}
Prompt text(std::uint64_t name, std::int32_t tokens) { return {{name, 0, tokens}}; }

using Token = std::pair<std::uint64_t, std::int32_t>;
std::vector<Token> tokens(const Prompt& prompt) {
  std::vector<Token> all;
  for (const PromptRun& run : prompt) {
    for (std::int32_t i = 0; i < run.tokens; ++i) all.emplace_back(run.text, run.from + i);
  }
  return all;
}

// The tree by hand: every beginning of every prompt, token by token.
struct NaiveTree {
  std::map<std::uint32_t, std::set<std::vector<Token>>> beginnings;  // by owner

  void insert(const Prompt& prompt, std::uint32_t owner) {
    const auto all = tokens(prompt);
    for (std::size_t n = 1; n <= all.size(); ++n) {
      beginnings[owner].insert({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)});
    }
  }
  std::int64_t longest(const Prompt& prompt, std::uint32_t owner) const {
    auto all = tokens(prompt);
    const auto mine = beginnings.find(owner);
    while (!all.empty() && (mine == beginnings.end() || !mine->second.contains(all))) all.pop_back();
    return std::ssize(all);
  }
};

Prompt draw(RandomStream& random) {
  Prompt prompt;
  const std::int64_t count = random.uniform_int(1, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    prompt.push_back({static_cast<std::uint64_t>(random.uniform_int(0, 1)), 0,
                      static_cast<std::int32_t>(random.uniform_int(1, 5))});
  }
  return prompt;
}

}  // namespace

TEST_CASE("the longest beginning decides; of several owners, who brought it", "[unit][routing]") {
  PrefixTree tree;
  CHECK(tree.match(blocks("abc"), kAll).tokens == 0);
  tree.insert(blocks("abcd"), 3);
  tree.insert(blocks("abx"), 1);
  CHECK(tree.match(blocks("abcz"), kAll).tokens == 12);
  CHECK(tree.match(blocks("abcz"), kAll).owner == 3);
  CHECK(tree.match(blocks("abxy"), kAll).owner == 1);
  CHECK(tree.match(blocks("ab"), kAll).owner == 3);
  CHECK(tree.match(blocks("zab"), kAll).tokens == 0);
  // Whose text it is does not matter where the owner takes no requests.
  CHECK(tree.match(blocks("abcz"), {true, true}).owner == 1);
  CHECK(tree.match(blocks("abcz"), {true, true}).tokens == 8);
  CHECK(tree.match(blocks("abcz"), {true}).tokens == 0);
}

TEST_CASE("a text is cut where prompts end or part", "[unit][routing]") {
  PrefixTree tree;
  tree.insert(text(9, 100), 0);
  CHECK(tree.nodes() == 1);
  CHECK(tree.match(text(9, 40), kAll).tokens == 40);
  CHECK(tree.match(text(9, 400), kAll).tokens == 100);
  // A longer turn of the same session: the rest of its text goes below.
  tree.insert(text(9, 250), 1);
  CHECK(tree.nodes() == 2);
  CHECK(tree.tokens_of(0) == 100);
  CHECK(tree.tokens_of(1) == 250);
  CHECK(tree.match(text(9, 300), kAll).owner == 1);
  CHECK(tree.match(text(9, 80), kAll).owner == 0);
  tree.insert(text(9, 40), 2);
  CHECK(tree.nodes() == 3);
  CHECK(tree.tokens_of(2) == 40);
  // A partial block followed by another text parts from the whole block.
  tree.insert(Prompt{{'a', 0, 4}, {'b', 0, 2}, {'c', 0, 4}}, 0);
  tree.insert(blocks("abd"), 0);
  CHECK(tree.match(blocks("abd"), kAll).tokens == 12);
  CHECK(tree.match(Prompt{{'a', 0, 4}, {'b', 0, 2}, {'c', 0, 3}}, kAll).tokens == 9);
}

TEST_CASE("eviction takes the least recently used ends, of owners above the size only",
          "[unit][routing]") {
  PrefixTree tree;
  tree.insert(blocks("abc"), 0);
  tree.insert(blocks("axy"), 0);
  tree.insert(blocks("q"), 0);
  tree.insert(blocks("abc"), 1);
  CHECK(tree.tokens_of(0) == 24);
  tree.evict(24);
  CHECK(tree.tokens_of(0) == 24);
  tree.evict(20);  // "c" of "abc"
  CHECK(tree.tokens_of(0) == 20);
  CHECK(tree.tokens_of(1) == 12);
  CHECK(tree.match(blocks("abc"), {true, false}).tokens == 8);
  CHECK(tree.match(blocks("abc"), {true, true}).owner == 1);
  // "b", which was on the way only, goes next, then the end of "axy", used before "q".
  tree.evict(12);
  CHECK(tree.match(blocks("abc"), {true, false}).tokens == 4);
  CHECK(tree.match(blocks("axy"), {true, false}).tokens == 8);
  CHECK(tree.match(blocks("q"), {true, false}).tokens == 4);
  tree.evict(0);
  CHECK(tree.nodes() == 0);
}

TEST_CASE("what a replica owned goes with it", "[unit][routing]") {
  PrefixTree tree;
  tree.insert(blocks("abc"), 0);
  tree.insert(blocks("abd"), 1);
  tree.remove(0);
  tree.remove(5);
  CHECK(tree.tokens_of(0) == 0);
  CHECK(tree.nodes() == 3);
  CHECK(tree.match(blocks("abc"), kAll).tokens == 8);
  CHECK(tree.match(blocks("abc"), kAll).owner == 1);
  tree.insert(blocks("abc"), 0);  // back, and cold until now
  CHECK(tree.match(blocks("abc"), kAll).owner == 0);
}

TEST_CASE("the tree answers as one of single tokens would", "[unit][routing]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed, "prefix_tree");
    PrefixTree tree;
    NaiveTree naive;
    for (int i = 0; i < 60; ++i) {
      const Prompt prompt = draw(random);
      std::vector<bool> takes(4);
      std::int64_t longest = 0;
      for (std::uint32_t owner = 0; owner < 4; ++owner) {
        takes[owner] = random.uniform() < 0.7;
        if (takes[owner]) longest = std::max(longest, naive.longest(prompt, owner));
      }
      const PrefixTree::Match match = tree.match(prompt, takes);
      INFO("seed " << seed << ", prompt " << i);
      REQUIRE(match.tokens == longest);
      if (longest > 0) {
        REQUIRE(takes[match.owner]);
        REQUIRE(naive.longest(prompt, match.owner) == longest);
      }
      const auto owner = static_cast<std::uint32_t>(random.uniform_int(0, 3));
      if (random.uniform() < 0.05) {
        tree.remove(owner);
        naive.beginnings.erase(owner);
      }
      tree.insert(prompt, owner);
      naive.insert(prompt, owner);
      for (std::uint32_t o = 0; o < 4; ++o) {
        REQUIRE(tree.tokens_of(o) == std::ssize(naive.beginnings[o]));
      }
    }
    const std::int64_t limit = random.uniform_int(0, 30);
    tree.evict(limit);
    for (std::uint32_t o = 0; o < 4; ++o) REQUIRE(tree.tokens_of(o) <= limit);
    for (std::uint32_t o = 0; o < 4; ++o) tree.remove(o);
    REQUIRE(tree.nodes() == 0);
  }
}
