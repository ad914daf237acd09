#include "sim/workload/prompt_runs.h"

#include "sim/core/random.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

std::vector<PromptRun> runs_of(const Request& request) {
  std::vector<PromptRun> runs;
  prompt_runs(request, runs);
  return runs;
}

// Equal tokens at the beginning of both, told from the runs alone.
std::int32_t shared(const Request& a, const Request& b) {
  struct Token {
    std::uint64_t text;
    std::int32_t place;
    bool operator==(const Token&) const = default;
  };
  const auto tokens = [](const Request& r) {
    std::vector<Token> all;
    for (const PromptRun& run : runs_of(r)) {
      for (std::int32_t i = 0; i < run.tokens; ++i) all.push_back({run.text, run.from + i});
    }
    REQUIRE(std::ssize(all) == r.prompt_tokens);
    return all;
  };
  const auto of_a = tokens(a), of_b = tokens(b);
  std::size_t i = 0;
  while (i < of_a.size() && i < of_b.size() && of_a[i] == of_b[i]) ++i;
  return static_cast<std::int32_t>(i);
}

std::int32_t shared_by_token(const Request& a, const Request& b) {
  std::int32_t i = 0;
  while (i < std::min(a.prompt_tokens, b.prompt_tokens) && token_at(a, i) == token_at(b, i)) ++i;
  return i;
}

// Few texts, so that prompts often share some of them.
Request draw(RandomStream& random, std::uint64_t id) {
  Request r;
  r.id = id;
  r.prompt_tokens = static_cast<std::int32_t>(random.uniform_int(1, 40));
  r.output_tokens = 1;
  if (random.uniform() < 0.5) {
    r.content_granularity = static_cast<std::int32_t>(random.uniform_int(1, 3)) * 4 - 3;  // 1, 5, 9
    const std::int64_t ids = random.uniform_int(0, 4);
    for (std::int64_t i = 0; i < ids; ++i) {
      r.content_ids.push_back(static_cast<std::uint64_t>(random.uniform_int(0, 1)));
    }
  }
  if (random.uniform() < 0.4) {
    r.prefix_group = random.uniform_int(0, 1);
    r.prefix_tokens = static_cast<std::int32_t>(random.uniform_int(0, 20));
  }
  if (random.uniform() < 0.5) r.session_id = random.uniform_int(0, 2);
  return r;
}

}  // namespace

TEST_CASE("a prompt is a run for each of its ids, one for its group's prefix, one for the rest",
          "[unit][workload]") {
  Request r;
  r.id = 7;
  r.prompt_tokens = 100;
  REQUIRE(runs_of(r).size() == 1);
  CHECK(runs_of(r)[0].from == 0);
  CHECK(runs_of(r)[0].tokens == 100);
  r.content_granularity = 16;
  r.content_ids = {3, 4};
  r.prefix_group = 1;
  r.prefix_tokens = 60;
  r.session_id = 2;
  const auto runs = runs_of(r);
  REQUIRE(runs.size() == 4);
  CHECK(runs[1].tokens == 16);
  CHECK(runs[2].from == 32);
  CHECK(runs[2].tokens == 28);
  CHECK(runs[3].from == 60);
  CHECK(runs[3].tokens == 40);
  r.prompt_tokens = 20;  // the second block is cut, nothing follows
  REQUIRE(runs_of(r).size() == 2);
  CHECK(runs_of(r)[1].tokens == 4);
}

TEST_CASE("runs are equal where tokens are", "[unit][workload]") {
  RandomStream random(1, "prompt_runs");
  int sharing = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const Request a = draw(random, 2 * i), b = draw(random, 2 * i + 1);
    // All requests of a trace have blocks of one size.
    if (a.content_granularity != b.content_granularity) continue;
    const std::int32_t expected = shared_by_token(a, b);
    REQUIRE(shared(a, b) == expected);
    sharing += expected > 0 ? 1 : 0;
  }
  CHECK(sharing > 1000);
}
