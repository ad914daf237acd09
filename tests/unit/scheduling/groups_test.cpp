// Samples and beams in vllm-v1, step by step.
#include "tests/support/catch.h"
#include "tests/support/group_driver.h"

using namespace headway;

namespace {

SchedulerConfig config(std::int64_t usable_blocks) {
  SchedulerConfig c;
  c.engine.scheduler = "vllm-v1";
  c.engine.block_size = 4;
  c.engine.max_model_len = 64;
  c.engine.max_num_seqs = 8;
  c.engine.enable_prefix_caching = false;
  c.engine.async_scheduling = false;
  c.num_blocks = usable_blocks + 1;
  return c;
}

Request request(std::int32_t prompt, std::int32_t output, std::int32_t samples,
                std::int32_t beams = 0) {
  Request r;
  r.prompt_tokens = prompt;
  r.output_tokens = output;
  r.samples = samples;
  r.beam_width = beams;
  return r;
}

}  // namespace

TEST_CASE("the step that completes the prompt samples for all", "[unit][scheduling]") {
  GroupDriver d(config(40));
  auto& e = d.arrive(request(18, 4, 3));
  REQUIRE(d.scheduler().waiting() == 3);
  d.step();
  REQUIRE(d.plan.scheduled.size() == 1);
  REQUIRE(d.plan.scheduled[0].num_tokens == 18);
  REQUIRE(d.plan.forked_sequences == 2);
  REQUIRE(d.update.emitted.size() == 3);
  for (const Sequence& s : e.sequences) REQUIRE(s.output_tokens == 1);
  REQUIRE(d.held() == 5);
  REQUIRE(d.scheduler().running() == 3);
  REQUIRE(d.scheduler().waiting() == 0);
  d.step();
  REQUIRE(d.plan.scheduled.size() == 3);
  REQUIRE(d.plan.copied_blocks == 2);
  REQUIRE(d.held() == 7);
  d.step();
  REQUIRE(d.plan.copied_blocks == 0);
  d.step();
  REQUIRE(d.update.finished.size() == 3);
  REQUIRE(d.held() == 0);
}

TEST_CASE("under asynchronous scheduling the fork precedes the first result",
          "[unit][scheduling]") {
  SchedulerConfig c = config(40);
  c.engine.async_scheduling = true;
  c.batches_in_flight = 2;
  GroupDriver d(c);
  d.arrive(request(18, 4, 3));
  StepPlan first, second;
  d.scheduler().plan(SimTime(), first);
  d.scheduler().plan(SimTime(), second);
  REQUIRE(first.forked_sequences == 2);
  REQUIRE(second.scheduled.size() == 3);
  REQUIRE(second.copied_blocks == 2);
  d.scheduler().complete(first, {}, d.update);
  REQUIRE(d.update.emitted.size() == 3);
  d.scheduler().complete(second, {}, d.update);
  REQUIRE(d.update.emitted.size() == 3);
  d.scheduler().check_kv();
}

TEST_CASE("a group waits for a seat a sample, and keeps them while its prompt is computed",
          "[unit][scheduling]") {
  SchedulerConfig c = config(40);
  c.engine.max_num_seqs = 4;
  c.engine.max_num_batched_tokens = 8;
  GroupDriver d(c);
  d.arrive(request(12, 2, 3));  // two chunks
  d.arrive(request(4, 2, 2));
  d.arrive(request(4, 2, 1));
  d.step();
  REQUIRE(d.scheduler().running() == 1);
  REQUIRE(d.scheduler().waiting() == 2 + 2 + 1);
  d.step();  // 4 tokens of budget are left, and one seat: not enough for two, and none overtakes
  REQUIRE(d.scheduler().running() == 3);
  REQUIRE(d.plan.scheduled.size() == 1);
  d.step();  // the three end
  REQUIRE(d.update.finished.size() == 3);
  d.step();
  REQUIRE(d.plan.scheduled.size() == 2);
}

TEST_CASE("a group that can never run is refused with the reason", "[unit][scheduling]") {
  const auto reason_of = [](const SchedulerConfig& c, const Request& r) {
    GroupDriver d(c);
    d.arrive(r);
    d.step();
    const auto count = static_cast<std::size_t>(std::max(r.samples, r.beam_width));
    REQUIRE(d.plan.rejected.size() == count);
    REQUIRE(d.scheduler().waiting() + d.scheduler().running() == 0);
    return d.plan.rejected.front().reason;
  };
  REQUIRE_THAT(reason_of(config(40), request(4, 2, 9)), ContainsSubstring("max_num_seqs = 8"));
  // 2 full blocks of the prompt, then each beam 3 of its own (9 + 11 tokens, the last without KV).
  REQUIRE_THAT(reason_of(config(13), request(9, 12, 1, 4)),
               ContainsSubstring("up to 14 KV blocks") && ContainsSubstring("cache has 13"));
  SchedulerConfig speculative = config(40);
  speculative.speculation = "eagle";
  speculative.num_speculative_tokens = 2;
  REQUIRE_THAT(reason_of(speculative, request(4, 4, 1, 2)), ContainsSubstring("speculative"));
}

TEST_CASE("a preempted sample recomputes by itself", "[unit][scheduling]") {
  // 7 blocks: the three samples of 18 tokens have 4 in common and one each; the sixth block of the
  // first takes the last sample's place.
  GroupDriver d(config(7));
  auto& e = d.arrive(request(18, 6, 3));
  for (int i = 0; i < 3; ++i) d.step();  // 20 tokens stored each
  REQUIRE(d.held() == 7);
  d.step();
  REQUIRE(d.plan.preempted.size() == 2);  // the third for the first, the second for want of another
  REQUIRE(d.plan.preempted[0] == &e.sequences[2]);
  REQUIRE(d.plan.preempted[1] == &e.sequences[1]);
  REQUIRE(d.plan.scheduled.size() == 1);
  while (d.scheduler().waiting() + d.scheduler().running() > 0) d.step();
  for (const Sequence& s : e.sequences) REQUIRE(s.output_tokens == 6);
  REQUIRE(e.sequences[0].preemptions == 0);
  REQUIRE(d.held() == 0);
}

TEST_CASE("dropped beams free their blocks", "[unit][scheduling]") {
  SchedulerConfig c = config(60);
  c.engine.beam_switch_probability = 1.0;  // all but one are dropped after each step
  GroupDriver d(c);
  d.arrive(request(18, 8, 1, 3));
  d.step();
  REQUIRE(d.held() == 5);
  REQUIRE(d.update.dropped_beams == 0);
  std::int64_t copies = 0, drops = 0;
  for (std::int32_t stored = 19; stored <= 24; ++stored) {
    d.step();
    REQUIRE(d.plan.scheduled.size() == 3);
    copies += d.plan.copied_blocks;
    drops += d.update.dropped_beams;
    REQUIRE(d.held() == (stored + 3) / 4);  // all share the survivor's table
  }
  // Two copies a step, but none where the token begins a block (the 21st, after 20 stored).
  REQUIRE(copies == 2 * 5);
  REQUIRE(drops == 2 * 6);
  d.step();
  REQUIRE(d.update.finished.size() == 3);
  REQUIRE(d.held() == 0);
}

TEST_CASE("beams that never switch are samples in step", "[unit][scheduling]") {
  SchedulerConfig c = config(60);
  c.engine.beam_switch_probability = 0.0;
  GroupDriver d(c);
  d.arrive(request(18, 8, 1, 3));
  for (int i = 0; i < 7; ++i) d.step();
  REQUIRE(d.update.dropped_beams == 0);
  REQUIRE(d.held() == 4 + 3 * 2);  // 24 stored each
}

TEST_CASE("beams are preempted together and forked anew from their leader", "[unit][scheduling]") {
  SchedulerConfig c = config(9);
  c.engine.beam_switch_probability = 0.0;
  GroupDriver d(c);
  auto& first = d.arrive(request(8, 12, 1));    // up to 5 blocks
  auto& beams = d.arrive(request(8, 6, 1, 3));  // 2 + 3 * 2 blocks at most
  int gangs = 0;
  for (int i = 0; i < 60 && d.scheduler().waiting() + d.scheduler().running() > 0; ++i) {
    d.step();
    if (d.plan.preempted.empty()) continue;
    ++gangs;
    REQUIRE(d.plan.preempted.size() == 3);
    REQUIRE(d.plan.preempted.back() == &beams.sequences[0]);
    REQUIRE(d.scheduler().waiting() == 3);
  }
  REQUIRE(gangs >= 1);
  REQUIRE(first.sequences[0].output_tokens == 12);
  REQUIRE(first.sequences[0].preemptions == 0);
  for (const Sequence& s : beams.sequences) {
    REQUIRE(s.output_tokens == 6);
    REQUIRE(s.preemptions == gangs);
  }
}

TEST_CASE("which beams go on depends on seed, request and position alone", "[unit][scheduling]") {
  const auto drops = [](std::uint64_t seed, bool crowd) {
    SchedulerConfig c = config(400);
    c.seed = seed;
    c.engine.max_num_seqs = 64;
    c.engine.beam_switch_probability = 0.3;
    GroupDriver d(c);
    d.arrive(request(18, 40, 1, 4));
    if (crowd) d.arrive(request(30, 20, 4));
    std::vector<std::int32_t> by_step;
    for (int i = 0; i < 40; ++i) {
      d.step();
      by_step.push_back(d.update.dropped_beams);
    }
    return by_step;
  };
  REQUIRE(drops(1, false) == drops(1, false));
  REQUIRE(drops(1, false) == drops(1, true));
  REQUIRE(drops(1, false) != drops(2, false));
  // 39 steps of four beams at 0.3: 46.8 expected, 5.7 standard deviation.
  std::int32_t total = 0;
  for (std::int32_t n : drops(1, false)) total += n;
  REQUIRE(total > 25);
  REQUIRE(total < 70);
}
