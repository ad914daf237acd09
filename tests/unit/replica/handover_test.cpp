#include <map>

#include "sim/replica/replica.h"
#include "tests/support/catch.h"
#include "tests/support/fixed_cost.h"

using namespace headway;

namespace {

struct HeardEnds : Observer {
  std::map<std::uint64_t, RequestRecord> finished;
  void on_finish(const RequestRecord& r) override { finished[r.id] = r; }
};

SchedulerConfig handover_config(const std::string& scheduler, std::int64_t usable_blocks) {
  SchedulerConfig c;
  c.engine.scheduler = scheduler;
  c.engine.block_size = 4;
  c.engine.max_model_len = 64;
  c.engine.enable_prefix_caching = false;
  c.engine.async_scheduling = false;
  c.engine.watermark = 0;
  c.num_blocks = usable_blocks + (scheduler == "vllm-v1" ? 1 : 0);
  return c;
}

// Steps of 1 ms and 0.1 ms for a prompt token: a prompt of 10 takes 2 ms.
struct HandoverEngine {
  HeardEnds records;
  Observer* observers[1] = {&records};
  Replica replica;

  explicit HandoverEngine(const SchedulerConfig& c)
      : replica({.max_model_len = c.engine.max_model_len,
                 .batches_in_flight = c.batches_in_flight,
                 .skip_ahead = true},
                make_scheduler(c), std::make_shared<FixedCost>(1000.0, 100.0, 0.0), observers) {}

  SimTime step(SimTime now) {
    if (replica.may_plan()) replica.start_steps(now);
    const SimTime end = replica.next_step_end();
    if (end != SimTime::never()) replica.end_step(end);
    return end;
  }
  std::vector<Handover> handovers() {
    std::vector<Handover> out;
    replica.take_handovers(out);
    return out;
  }
};

Request prompt_of(std::uint64_t id, std::int32_t prompt, std::int32_t output) {
  Request r;
  r.id = id;
  r.prompt_tokens = prompt;
  r.output_tokens = output;
  return r;
}

SimTime latency_part(const RequestRecord& r, LatencyPart p) {
  return r.split[static_cast<std::size_t>(p)];
}

}  // namespace

TEST_CASE("a request goes on in another replica: all times in closed form", "[unit][replica][pd]") {
  for (const SchedulerEntry& row : scheduler_table()) {
    if (!row.receives_kv) continue;
    INFO(row.name);
    HandoverEngine prompts(handover_config(std::string(row.name), 64)),
        answers(handover_config(std::string(row.name), 64));
    prompts.replica.submit_prompt(prompt_of(7, 10, 4), SimTime());
    REQUIRE(prompts.step(SimTime()) == SimTime::from_ms(2));
    std::vector<Handover> begun = prompts.handovers();
    REQUIRE(begun.size() == 1);
    CHECK(prompts.records.finished.empty());  // one record a request
    CHECK(prompts.replica.outstanding() == 0);
    CHECK(prompts.replica.scheduler().kv_usage().held_blocks > 0);  // until it has been sent
    CHECK(begun[0].output_tokens == 1);

    const auto room = answers.replica.expect(begun[0], SimTime::from_ms(2));
    REQUIRE(room.verdict == Replica::Admission::Verdict::kTaken);
    CHECK(room.cached_tokens == 0);
    CHECK(answers.replica.outstanding() == 1);
    answers.replica.start_steps(SimTime::from_ms(3));
    CHECK(answers.replica.idle());  // its KV has not come yet
    answers.replica.receive(room.slot, SimTime::from_ms(5));
    prompts.replica.release_kv(begun[0].slot);
    CHECK(prompts.replica.scheduler().kv_usage().held_blocks == 0);

    SimTime now = SimTime::from_ms(6);  // it waits a millisecond for a look at the queue
    for (int turn = 0; turn < 3 && answers.replica.outstanding() > 0; ++turn)
      now = answers.step(now);
    const RequestRecord& r = answers.records.finished.at(7);
    CHECK(r.first_token == SimTime::from_ms(2));
    CHECK(r.finish == SimTime::from_ms(9));
    CHECK(r.output_tokens == 4);
    CHECK(r.max_itl == SimTime::from_ms(5));  // from the first token to the second
    CHECK(latency_part(r, LatencyPart::kPrefill) == SimTime::from_ms(2));
    CHECK(latency_part(r, LatencyPart::kTransfer) == SimTime::from_ms(3));
    CHECK(latency_part(r, LatencyPart::kQueue) == SimTime::from_ms(1));
    CHECK(latency_part(r, LatencyPart::kDecode) == SimTime::from_ms(3));
    prompts.replica.check_drained();
    answers.replica.check_drained();
  }
}

TEST_CASE("KV that is still to be sent leaves no room for the next prompt", "[unit][replica][pd]") {
  HandoverEngine prompts(handover_config("vllm-v1", 4));  // 16 tokens
  prompts.replica.submit_prompt(prompt_of(0, 10, 4), SimTime());
  prompts.replica.submit_prompt(prompt_of(1, 10, 4), SimTime());
  CHECK(prompts.step(SimTime()) == SimTime::from_ms(2));  // the second finds no blocks
  CHECK(prompts.step(SimTime::from_ms(2)) == SimTime::never());
  std::vector<Handover> begun = prompts.handovers();
  REQUIRE(begun.size() == 1);
  const SimTime later = SimTime::from_ms(5);
  prompts.replica.release_kv(begun[0].slot);
  SimTime now = later;
  while (prompts.replica.outstanding() > 0) now = prompts.step(now);
  CHECK(now == SimTime::from_ms(7));
  CHECK(prompts.handovers().size() == 1);
}

TEST_CASE("a replica without room for a prompt's KV says so, or that it never will",
          "[unit][replica][pd]") {
  HandoverEngine prompts(handover_config("vllm-v1", 64)), answers(handover_config("vllm-v1", 4));
  for (std::uint64_t id = 0; id < 3; ++id) {
    prompts.replica.submit_prompt(prompt_of(id, id == 2 ? 20 : 10, 4), SimTime());
  }
  const SimTime now = prompts.step(SimTime());
  std::vector<Handover> begun = prompts.handovers();
  REQUIRE(begun.size() == 3);
  using Verdict = Replica::Admission::Verdict;
  const auto first = answers.replica.expect(begun[0], now);
  CHECK(first.verdict == Verdict::kTaken);
  CHECK(answers.replica.expect(begun[1], now).verdict == Verdict::kNoRoom);
  CHECK(begun[1].request.prompt_tokens == 10);  // nothing has been taken of it
  CHECK(answers.replica.expect(begun[2], now).verdict == Verdict::kRefused);
  CHECK(answers.records.finished.at(2).failed);
  CHECK(answers.records.finished.at(2).finish_reason.find("KV blocks") != std::string::npos);
  answers.replica.receive(first.slot, now);
  SimTime at = now;
  while (answers.replica.outstanding() > 0) at = answers.step(at);
  CHECK(answers.replica.take_room_changed());
  CHECK(answers.replica.expect(begun[1], at).verdict == Verdict::kTaken);
}

TEST_CASE("KV that the receiving replica has cached is not asked for", "[unit][replica][pd]") {
  SchedulerConfig c = handover_config("vllm-v1", 64);
  c.engine.enable_prefix_caching = true;
  HandoverEngine prompts(c), answers(c);
  Request shared = prompt_of(0, 14, 2);
  shared.prefix_group = 3;
  shared.prefix_tokens = 10;
  SimTime now;
  for (std::uint64_t id = 0; id < 2; ++id) {
    shared.id = id;
    prompts.replica.submit_prompt(Request(shared), now);
    now = prompts.step(now);
    std::vector<Handover> begun = prompts.handovers();
    const auto room = answers.replica.expect(begun.at(0), now);
    CHECK(room.cached_tokens == (id == 0 ? 0 : 8));  // two whole blocks of ten tokens
    answers.replica.receive(room.slot, now);
    prompts.replica.release_kv(begun.at(0).slot);
    now = answers.step(now);
    const RequestRecord& r = answers.records.finished.at(id);
    CHECK(r.cached_tokens == (id == 0 ? 0 : 8));  // where its prompt was computed
    CHECK(answers.replica.scheduler().kv_usage().prefix_queries == 0);  // asked for once, there
  }
}
