// Requests of several sequences from their arrival to their one record. A replica checks itself
// that the latency parts sum to E2EL.
#include "sim/replica/request_group.h"

#include <vector>

#include "sim/metrics/slo.h"
#include "sim/scenario/parse.h"
#include "tests/support/bench_engine.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

struct Heard : Observer {
  std::vector<RequestRecord> finished;
  std::int64_t tokens = 0, gaps = 0;
  void on_finish(const RequestRecord& r) override { finished.push_back(r); }
  void on_tokens(std::int64_t n, SimTime) override { tokens += n; }
  void on_token_gaps(SimTime, std::int64_t n, SimTime) override { gaps += n; }
};

// Steps of 1 ms; blocks of 4 tokens; one request of 18 tokens that answers with 4.
struct Engine : BenchEngine {
  Heard heard;

  explicit Engine(bool share, const std::string& scheduler = "vllm-v1") : BenchEngine(scheduler) {
    engine().block_size = 4;
    blueprint.replica.shares_samples = share;
    workload().input_len.value = 18;
    workload().output_len.value = 4;
  }
  RunOutcome run() {
    Observer* observers[] = {&heard};
    return BenchEngine::run(observers, {.check_every_event = true});
  }
  SimTime since_arrival(SimTime RequestRecord::*what) const {
    return heard.finished.front().*what - heard.finished.front().arrival;
  }
};

}  // namespace

TEST_CASE("three samples make one request: all of them are its output", "[unit][replica]") {
  Engine e(true);
  e.workload().samples = 3;
  const RunOutcome outcome = e.run();
  REQUIRE(e.heard.finished.size() == 1);
  const RequestRecord& r = e.heard.finished.front();
  REQUIRE(r.prompt_tokens == 18);
  REQUIRE(r.output_tokens == 12);
  REQUIRE(r.answers == 3);
  REQUIRE(e.since_arrival(&RequestRecord::first_token) == SimTime::from_ms(1));
  REQUIRE(e.since_arrival(&RequestRecord::finish) == SimTime::from_ms(4));
  REQUIRE(tpot_ms_of(r).value() == Approx(1.0));
  REQUIRE(r.split[static_cast<std::size_t>(LatencyPart::kPrefill)] == SimTime::from_ms(1));
  REQUIRE(r.split[static_cast<std::size_t>(LatencyPart::kDecode)] == SimTime::from_ms(3));
  REQUIRE(e.heard.tokens == 12);
  REQUIRE(e.heard.gaps == 9);
  REQUIRE(outcome.steps == 4);
  REQUIRE(outcome.sharing.requests == 1);
  REQUIRE(outcome.sharing.sequences == 3);
  REQUIRE(outcome.sharing.forks == 2);
  REQUIRE(outcome.sharing.copied_blocks == 2);
  REQUIRE(outcome.sharing.drops == 0);
  // Planned with 18, 19, 20 and 21 tokens stored each: 5 blocks, twice 4 in common and 3, then 3
  // new ones besides; in tables of 5, 5, 5 and 6 blocks.
  REQUIRE(outcome.sharing.peak_blocks == 10);
  REQUIRE(outcome.sharing.peak_blocks_unshared == 18);
  REQUIRE(outcome.sharing.saving() == Approx(1.0 - (5 + 7 + 7 + 10) / 63.0));
}

TEST_CASE("without sharing the samples are so many sequences", "[unit][replica]") {
  for (const char* scheduler : {"vllm-v1", "fcfs-nochunk"}) {
    Engine e(false, scheduler);
    e.workload().samples = 3;
    const RunOutcome outcome = e.run();
    REQUIRE(e.heard.finished.size() == 1);
    REQUIRE(e.heard.finished.front().output_tokens == 12);
    REQUIRE(e.since_arrival(&RequestRecord::first_token) == SimTime::from_ms(1));
    REQUIRE(e.since_arrival(&RequestRecord::finish) == SimTime::from_ms(4));
    REQUIRE(outcome.sharing.sequences == 3);
    REQUIRE(outcome.sharing.forks == 0);
    REQUIRE(outcome.sharing.peak_blocks == 18);
    REQUIRE(outcome.sharing.saving() == 0.0);
  }
}

TEST_CASE("of a beam search one answer is heard", "[unit][replica]") {
  for (const bool share : {true, false}) {
    Engine e(share);
    e.engine().beam_switch_probability = 0.5;
    e.workload().beam_width = 4;
    const RunOutcome outcome = e.run();
    const RequestRecord& r = e.heard.finished.front();
    REQUIRE(r.output_tokens == 4);
    REQUIRE(r.answers == 1);
    REQUIRE(tpot_ms_of(r).value() == Approx(1.0));
    REQUIRE(e.heard.tokens == 4);
    REQUIRE(e.heard.gaps == 3);
    REQUIRE(outcome.sharing.sequences == 4);
    REQUIRE(outcome.sharing.forks == (share ? 3 + outcome.sharing.drops : 0));
  }
}

TEST_CASE("the parts of a crowd's latencies add up, preempted or not", "[unit][replica]") {
  for (const bool share : {true, false}) {
    for (const bool async : {true, false}) {
      for (std::int32_t kind = 0; kind < 3; ++kind) {
        Engine e(share);
        e.engine().async_scheduling = async;
        e.blueprint.scheduler.batches_in_flight = async ? 2 : 1;
        e.engine().max_num_batched_tokens = 256;
        e.blueprint.scheduler.num_blocks = 60;
        e.cost(900.0, 3.0, 20.0);
        e.workload().num_prompts = 60;
        e.workload().request_rate = 60.0;
        e.workload().input_len = {.distribution = "uniform", .low = 3, .high = 60};
        e.workload().output_len = {.distribution = "uniform", .low = 1, .high = 30};
        (kind == 2 ? e.workload().beam_width : e.workload().samples) = kind == 0 ? 1 : 3;
        const RunOutcome outcome = e.run();
        REQUIRE(e.heard.finished.size() == 60);
        std::int64_t preemptions = 0, output = 0;
        for (const RequestRecord& r : e.heard.finished) {
          REQUIRE_FALSE(r.failed);
          REQUIRE(r.arrival <= r.scheduled);
          REQUIRE(r.scheduled < r.first_token);
          REQUIRE(r.first_token <= r.finish);
          preemptions += r.preemptions;
          output += r.output_tokens;
        }
        REQUIRE(preemptions == outcome.preemptions);
        REQUIRE(e.heard.tokens == output);
        if (kind > 0) REQUIRE(preemptions > 0);
      }
    }
  }
}

TEST_CASE("a request fails when one of its sequences does", "[unit][replica]") {
  Engine e(true);
  e.engine().max_num_seqs = 2;
  e.workload().samples = 3;
  e.run();
  REQUIRE(e.heard.finished.size() == 1);
  REQUIRE(e.heard.finished.front().failed);
  REQUIRE_THAT(e.heard.finished.front().finish_reason, ContainsSubstring("max_num_seqs = 2"));
}

TEST_CASE("engine.share_prompt_blocks compares a run with itself unshared", "[unit][replica]") {
  const auto run = [](bool share) {
    const std::string engine = std::string("{\"enable_prefix_caching\": false, ") +
                               "\"share_prompt_blocks\": " + (share ? "true" : "false") + "}";
    const Scenario scenario = parse_scenario(
        "{\"model\": \"llama-3.1-8b\", \"gpu\": \"h100-sxm\", \"engine\": " + engine +
            ", \"workload\": {\"num_prompts\": 20, \"request_rate\": 10, \"input_len\": 200, "
            "\"output_len\": 50, \"samples\": 4}}",
        "test");
    return simulate(scenario, {});
  };
  const RunOutcome shared = run(true), unshared = run(false);
  REQUIRE(shared.sharing.forks == 60);
  REQUIRE(shared.sharing.copied_blocks == 60);  // 200 tokens are 12.5 blocks: all but one copy
  REQUIRE(unshared.sharing.forks == 0);
  REQUIRE(unshared.sharing.saving() == 0.0);
  // Unshared, each sample stores 200 to 249 tokens in 13 to 16 blocks; shared, 12 of them are
  // common.
  REQUIRE(shared.sharing.saving() > 0.55);
  REQUIRE(shared.sharing.saving() < 0.70);
  REQUIRE(shared.sharing.peak_blocks < unshared.sharing.peak_blocks / 2);
}
