// KV in host memory behind the prefix cache of vllm-v1 (engine.kv_offloading_size).
#include "tests/support/bench_engine.h"
#include "tests/support/catch.h"
#include "tests/support/fleet_bench.h"
#include "tests/support/temp_folder.h"

using namespace headway;

namespace {

BenchEngine caching(std::int64_t usable_blocks, std::int64_t host_blocks) {
  BenchEngine bench;
  bench.engine().enable_prefix_caching = true;
  bench.blueprint.scheduler.num_blocks = usable_blocks + 1;
  bench.blueprint.scheduler.num_offload_blocks = host_blocks;
  bench.blueprint.replica.swap_us_per_block = 50;
  return bench;
}

// Real conversations on a GPU whose KV cache holds little more than the longest prompt.
BenchEngine conversations(std::int64_t host_blocks) {
  BenchEngine bench = caching(320, host_blocks);
  bench.cost(5000.0, 50.0, 100.0);
  bench.engine().block_size = 512;
  bench.engine().max_model_len = 160'000;
  bench.blueprint.replica.max_model_len = 160'000;
  bench.workload() = {};
  bench.workload().trace = "mooncake-conversation";
  bench.workload().limit = 1500;
  return bench;
}

// Turns of many sessions on a GPU that holds a few of them.
BenchEngine sessions() {
  BenchEngine bench = caching(150, 1500);
  bench.cost(3000.0, 15.0, 40.0);
  WorkloadOptions& w = bench.workload();
  w.num_prompts = 240;
  w.request_rate = 8;
  w.input_len = {.distribution = "uniform", .low = 50, .high = 400};
  w.output_len = {.distribution = "uniform", .low = 1, .high = 80};
  w.sessions.emplace().turns.value = 4;
  w.sessions->new_input_len.value = 60;
  return bench;
}

double hit_rate(const RunOutcome& outcome) {
  return static_cast<double>(outcome.prefix_hits) / static_cast<double>(outcome.prefix_queries);
}

}  // namespace

TEST_CASE("a prefix comes back from host memory: closed form", "[fidelity][offload]") {
  const test::TempFolder folder;
  const std::string trace = folder.write(
      "t.csv",
      "arrival_s,input_tokens,output_tokens,prefix_group,prefix_tokens\n"
      "0,80,2,1,64\n1,80,2,2,64\n2,80,2,1,64\n");
  for (const std::int64_t host_blocks : {0, 100}) {
    BenchEngine bench = caching(6, host_blocks);  // one request of six blocks fills the GPU
    bench.cost(1000.0, 10.0, 0.0);
    bench.workload() = {};
    bench.workload().trace = trace;
    Finished finished;
    Observer* observers[] = {&finished};
    const RunOutcome outcome = bench.run(observers);
    REQUIRE(finished.records.size() == 3);
    for (const std::size_t first : {0, 1}) {
      CHECK(finished.records[first].first_token - finished.records[first].arrival ==
            SimTime::from_us(1000 + 80 * 10));
    }
    // 16 tokens are computed, four blocks of 64 tokens loaded.
    const RequestRecord& again = finished.records[2];
    const SimTime ttft = again.first_token - again.arrival;
    CHECK(ttft == SimTime::from_us(host_blocks > 0 ? 1000 + 16 * 10 + 4 * 50 : 1800));
    CHECK(again.cached_tokens == (host_blocks > 0 ? 64 : 0));
    CHECK(outcome.host_hits == (host_blocks > 0 ? 64U : 0U));
    CHECK(outcome.prefix_hits == outcome.host_hits);
  }
}

TEST_CASE("conversations find more of their past the larger the host's memory is",
          "[fidelity][offload]") {
  const RunOutcome none = conversations(0).run({});
  const RunOutcome some = conversations(4000).run({});
  const RunOutcome all = conversations(1'000'000).run({});
  CHECK(none.host_hits == 0);
  CHECK(hit_rate(some) > hit_rate(none) + 0.02);
  CHECK(hit_rate(all) > hit_rate(some) + 0.02);
  CHECK(some.end <= none.end);
  // All that was ever computed is found: as in a GPU without limit.
  BenchEngine unlimited = conversations(0);
  unlimited.blueprint.scheduler.num_blocks = 1'000'000;
  CHECK(hit_rate(all) == Approx(hit_rate(unlimited.run({}))).epsilon(0.01));
}

TEST_CASE("INV-2 INV-8: with blocks in host memory", "[fidelity][offload][skip]") {
  const auto run = [](bool step_by_step) {
    BenchEngine bench = sessions();
    RunOptions options;
    options.step_by_step = step_by_step;
    options.check_every_event = !step_by_step;
    return bench.run({}, options);
  };
  const RunOutcome ahead = run(false);
  CHECK(ahead.host_hits > 0);
  const RunOutcome stepping = run(true);
  CHECK(ahead.fingerprint == stepping.fingerprint);
  CHECK(ahead.host_hits == stepping.host_hits);
  CHECK(ahead.prefix_hits == stepping.prefix_hits);
}
