// The prefix cache against the trace's own ideal, worked out here without any of its classes.
#include <algorithm>
#include <unordered_map>

#include "sim/workload/request_source.h"
#include "tests/support/bench_engine.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

class CachedTokens : public Observer {
 public:
  void on_finish(const RequestRecord& r) override {
    REQUIRE_FALSE(r.failed);
    cached += r.cached_tokens;
    prompt += r.prompt_tokens;
    preemptions += r.preemptions;
  }
  std::int64_t cached = 0, prompt = 0, preemptions = 0;
};

// A cache that never forgets, in order of arrival: equal ids are equal tokens after equal tokens, so
// a prompt matches as long as its ids have been seen, to the furthest token seen under the last one.
// Engines reuse whole blocks only, and always compute the last token.
std::int64_t ideal_cached_tokens(const WorkloadOptions& workload, std::int32_t block_size) {
  std::vector<std::string> notes;
  const auto source = open_workload(workload, "", 0, notes);
  std::unordered_map<std::uint64_t, std::int64_t> seen;  // id -> tokens known under it
  std::int64_t total = 0;
  while (const auto r = source->next()) {
    std::int64_t matched = 0;
    for (std::size_t i = 0; i < r->content_ids.size(); ++i) {
      const auto found = seen.find(r->content_ids[i]);
      if (found == seen.end()) break;
      const std::int64_t here =
          std::min<std::int64_t>(512, r->prompt_tokens - 512 * static_cast<std::int64_t>(i));
      matched += std::min(found->second, here);
      if (found->second < here) break;
    }
    total += std::min<std::int64_t>(matched / block_size, (r->prompt_tokens - 1) / block_size) *
             block_size;
    for (std::size_t i = 0; i < r->content_ids.size(); ++i) {
      std::int64_t& known = seen[r->content_ids[i]];
      known = std::max(known, std::min<std::int64_t>(
                                  512, r->prompt_tokens - 512 * static_cast<std::int64_t>(i)));
    }
  }
  return total;
}

CachedTokens run_infinite(const WorkloadOptions& workload, std::int32_t block_size,
                          std::int64_t blocks) {
  BenchEngine bench;
  bench.cost(1000.0, 0.01, 10.0);
  bench.engine().enable_prefix_caching = true;
  bench.engine().block_size = block_size;
  bench.engine().max_num_seqs = 100'000;
  bench.engine().max_num_batched_tokens = 100'000'000;
  bench.engine().max_model_len = bench.blueprint.replica.max_model_len = 200'000;
  bench.blueprint.scheduler.num_blocks = blocks;
  bench.scenario.workload = workload;
  CachedTokens heard;
  Observer* observers[] = {&heard};
  bench.run(observers);
  return heard;
}

}  // namespace

TEST_CASE("an infinite prefix cache finds what the Mooncake conversation trace repeats", "[fidelity]") {
  WorkloadOptions whole;
  whole.trace = "mooncake-conversation";
  const CachedTokens at_512 = run_infinite(whole, 512, 500'000);
  CHECK(at_512.preemptions == 0);
  CHECK(at_512.prompt == 144'793'823);
  CHECK(at_512.cached == ideal_cached_tokens(whole, 512));
  // Published for blocks of 512: 36.6 to 37.4 % of the prompt tokens, by how the last block counts.
  const double share = static_cast<double>(at_512.cached) / static_cast<double>(at_512.prompt);
  CHECK(share > 0.36);
  CHECK(share < 0.375);

  WorkloadOptions part = whole;
  part.limit = 1000;
  for (const std::int32_t block_size : {16, 128}) {
    const CachedTokens heard = run_infinite(part, block_size, 16'000'000 / block_size);
    CHECK(heard.preemptions == 0);
    CHECK(heard.cached == ideal_cached_tokens(part, block_size));
  }
}

TEST_CASE("a session's next turn finds the turns before it, but for the last token", "[fidelity]") {
  // Turn 1: 40 in, 10 out; KV of 49 tokens exists. Turn 2 adds 20: its prompt is 70, of which three
  // blocks of 16 are found and 22 tokens are computed (schedulers: "hit per turn").
  BenchEngine bench;
  bench.engine().enable_prefix_caching = true;
  WorkloadOptions& w = bench.workload();
  w.num_prompts = 2;  // one session of two turns
  w.output_len.value = 10;
  SessionOptions sessions;
  sessions.turns.value = 2;
  sessions.new_input_len.value = 20;
  w.sessions = sessions;
  w.input_len.value = 40;
  class Turns : public Observer {
   public:
    void on_finish(const RequestRecord& r) override {
      cached.emplace_back(r.prompt_tokens, r.cached_tokens);
    }
    std::vector<std::pair<std::int32_t, std::int32_t>> cached;
  } turns;
  Observer* observers[] = {&turns};
  bench.run(observers);
  REQUIRE(turns.cached.size() == 2);
  CHECK(turns.cached[0] == std::pair{40, 0});
  CHECK(turns.cached[1] == std::pair{70, 48});
}
