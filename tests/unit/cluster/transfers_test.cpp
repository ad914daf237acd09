#include "sim/cluster/transfers.h"

#include "sim/cluster/disaggregation.h"
#include "tests/support/catch.h"
#include "tests/support/split_bench.h"

using namespace headway;

namespace {

Handover begun(std::uint64_t id) {
  Handover h;
  h.request.id = id;
  h.request.prompt_tokens = 10;
  return h;
}

SimTime ms(std::int64_t n) { return SimTime::from_ms(n); }

}  // namespace

TEST_CASE("transfers: fresh ones in order of requests, lines in order of coming",
          "[unit][cluster][pd]") {
  Transfers t(4);
  t.reserve(5, 2);
  CHECK(t.reserved() == 1);
  t.hand_over(1, begun(9), ms(1));
  t.hand_over(0, begun(5), ms(1));
  CHECK(t.reserved() == 0);
  CHECK(t.nowhere() == 1);
  CHECK(t.work_to_do());
  const auto fresh = t.take_fresh();
  REQUIRE(fresh.size() == 2);
  CHECK(t.at(fresh[0]).request == 5);
  CHECK(t.at(fresh[0]).to == 2);
  CHECK(t.at(fresh[1]).to == KvTransfer::kNowhere);
  t.assign(fresh[1], 2);
  CHECK(t.nowhere() == 0);
  for (const std::uint32_t number : fresh) t.wait_for_room(number);
  CHECK(t.take_rooms() == std::vector<std::uint32_t>{2});
  CHECK(t.first_waiting(2) == fresh[0]);
  t.leave_line(2);
  CHECK(t.first_waiting(2) == fresh[1]);
  t.note_room(3);  // nobody waits there
  CHECK_FALSE(t.work_to_do());
  CHECK_FALSE(t.drained());
  for (const std::uint32_t number : fresh) t.take(number);
  CHECK(t.drained());
}

TEST_CASE("transfers: one at a time from an engine, and to one", "[unit][cluster][pd]") {
  Transfers t(4);
  for (const auto& [from, to] : {std::pair{0, 2}, {0, 3}, {1, 3}}) {
    t.hand_over(static_cast<std::uint32_t>(from), begun(static_cast<std::uint64_t>(from + to)), ms(0));
    const std::uint32_t number = t.take_fresh().at(0);
    t.assign(number, static_cast<std::uint32_t>(to));
    t.at(number).bytes = 7;
    t.send(number, ms(10), ms(1));
  }
  CHECK(t.at(0).start == ms(1));
  CHECK(t.at(1).start == ms(11));  // behind the first at the sender
  CHECK(t.at(2).start == ms(21));  // behind the second at the receiver
  CHECK(t.at(2).end == ms(31));
  const TransferTotals totals = t.totals(ms(60));
  CHECK(totals.transfers == 3);
  CHECK(totals.bytes == 21);
  CHECK(totals.mean_ms == Approx(21));
  CHECK(totals.mean_wait_ms == Approx(11));
  CHECK(totals.link_utilisation == Approx(0.25));  // 30 ms of two links over 60 ms
}

TEST_CASE("a reservation that comes to nothing is given up once", "[unit][cluster][pd]") {
  Transfers t(2);
  t.reserve(1, 1);
  CHECK(t.give_up(1) == 1U);
  CHECK_FALSE(t.give_up(1));
  CHECK(t.drained());
  CHECK(t.totals(ms(1)).transfers == 0);
}

TEST_CASE("the rules: who computes a prompt, who goes on", "[unit][cluster][pd]") {
  const BenchEngine engine;
  const std::vector<std::int32_t> two{2, 2};
  // Replicas 0 and 1 compute prompts, 2 and 3 decode.
  const std::vector<ReplicaLoad> loads{{0, 1, 900}, {1, 5, 100}, {2, 9, 50}, {3, 1, 800}};
  Request request;
  request.prompt_tokens = 100;
  request.output_tokens = 8;

  SplitBench bench(engine, 2, 2, "distserve");
  Disaggregation distserve(bench.scenario, two);
  const auto doors = distserve.doors(loads);
  REQUIRE(doors.size() == 2);
  auto chosen = distserve.choose(request, doors, loads);
  CHECK(chosen.replica == 1);  // fewest prompt tokens
  CHECK(chosen.prompt_only);
  CHECK(chosen.answer == Disaggregation::kLater);
  CHECK(distserve.choose_answer(loads) == 3);  // fewest requests

  bench.scenario.cluster.transfer.rule = "splitwise";
  bench.scenario.cluster.transfer.lend_above_tokens = 200;
  Disaggregation splitwise(bench.scenario, two);
  chosen = splitwise.choose(request, splitwise.doors(loads), loads);
  CHECK(chosen.replica == 1);
  CHECK(chosen.answer == 2);  // fewest prompt tokens
  request.prompt_tokens = 101;  // 201 at the prompt's replica: the other pool lends
  chosen = splitwise.choose(request, splitwise.doors(loads), loads);
  CHECK(chosen.replica == 2);
  CHECK_FALSE(chosen.prompt_only);
  request.prompt_tokens = 100;
  request.max_tokens = 1;
  CHECK_FALSE(splitwise.choose(request, splitwise.doors(loads), loads).prompt_only);
  request.max_tokens = 0;
  request.samples = 2;
  CHECK(splitwise.choose(request, splitwise.doors(loads), loads).replica == 2);
}

TEST_CASE("bytes of a prompt are those that its layers keep", "[unit][cluster][pd]") {
  SplitBench bench(BenchEngine(), 1, 1, "distserve");
  std::vector<LayerSpec>& layers = bench.scenario.model.layers;
  layers[0].mixer.window = 64;
  layers[1].mixer.kind = MixerKind::kLatentAttention;
  layers[1].mixer.kv_lora_rank = 512;
  layers[1].mixer.qk_rope_head_dim = 64;
  const std::vector<std::int32_t> one{1, 1};
  const Disaggregation d(bench.scenario, one);
  // 8 heads of 128 keys and values in 16 bits: 4096 bytes; a latent of 576 numbers: 1152.
  CHECK(d.bytes(0, 1000, 0) == Approx(64 * 4096 + 1000 * 1152 + 2 * 1000 * 4096));
  CHECK(d.bytes(0, 10, 0) == Approx(10 * 4096 + 10 * 1152 + 2 * 10 * 4096));
}
