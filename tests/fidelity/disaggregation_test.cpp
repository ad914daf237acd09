// Prompts in one pool, answers in another: closed forms, conservation, back-pressure, INV-1..8.
#include <map>
#include <set>

#include "sim/metrics/request_life.h"
#include "tests/support/busy_engine.h"
#include "tests/support/catch.h"
#include "tests/support/split_bench.h"

using namespace headway;

namespace {

SimTime part(const RequestRecord& r, LatencyPart p) { return r.split[static_cast<std::size_t>(p)]; }

// A prompt of 1000 tokens in 11 ms, 16.384 MB, and four further tokens of 1 ms each.
SplitBench one_request(const std::string& rule) {
  BenchEngine engine;
  engine.cost(1000.0, 10.0, 0.0);
  engine.workload().input_len.value = 1000;
  engine.workload().output_len.value = 5;
  return SplitBench(engine, 1, 1, rule);
}

RequestRecord record_of(const SplitBench& bench) {
  Sent sent;
  Observer* observers[] = {&sent};
  bench.run(observers);
  REQUIRE(sent.records.size() == 1);
  return sent.records[0];
}

// Two replicas that compute prompts and two that decode, under load and short of memory.
SplitBench busy(const std::string& scheduler, const std::string& rule) {
  BenchEngine engine = busy_engine(scheduler);
  engine.scenario.cluster.replicas = 1;
  return SplitBench(engine, 2, 2, rule);
}

}  // namespace

TEST_CASE("one request between two replicas: every time in closed form", "[fidelity][pd]") {
  for (const char* rule : {"distserve", "splitwise"}) {
    SplitBench bench = one_request(rule);
    Sent sent;
    Observer* observers[] = {&sent};
    const RunOutcome outcome = bench.run(observers);
    REQUIRE(sent.records.size() == 1);
    const RequestRecord& r = sent.records[0];
    CHECK(r.first_token - r.arrival == SimTime::from_ms(11));
    CHECK(r.finish - r.first_token == SimTime::from_us(100 + 16384 + 4000));
    CHECK(r.max_itl == SimTime::from_us(100 + 16384 + 1000));
    CHECK(r.output_tokens == 5);
    CHECK(r.replica == 1);
    CHECK(part(r, LatencyPart::kPrefill) == SimTime::from_ms(11));
    CHECK(part(r, LatencyPart::kTransfer) == SimTime::from_us(16484));
    CHECK(part(r, LatencyPart::kDecode) == SimTime::from_ms(4));
    REQUIRE(sent.transfers.size() == 1);
    const TransferRecord& t = sent.transfers[0];
    CHECK(t.bytes == Approx(1000 * SplitBench::kBytesPerToken));
    CHECK(t.from == 0);
    CHECK(t.to == 1);
    CHECK(t.handed == r.first_token);
    CHECK(t.end - t.start == SimTime::from_us(16484));
    CHECK(outcome.transfers.transfers == 1);
    CHECK(outcome.transfers.mean_ms == Approx(16.484));
    CHECK(outcome.transfers.mean_wait_ms == 0);
    CHECK(outcome.transfers.link_utilisation == Approx(16.484 / outcome.end.ms()));
  }
}

TEST_CASE("layers sent while later ones are computed: what is left of the transfer",
          "[fidelity][pd]") {
  SplitBench bench = one_request("splitwise");
  bench.scenario.cluster.transfer.overlap = "layers";
  // The link is the slower one: it has had three quarters of the 11 ms.
  CHECK(part(record_of(bench), LatencyPart::kTransfer) == SimTime::from_us(100 + 16384 - 8250));
  bench.link(1e10, 100);  // the GPU is: the last of four layers is left
  CHECK(part(record_of(bench), LatencyPart::kTransfer) == SimTime::from_ns(100'000 + 409'600));
}

TEST_CASE("links of all GPUs carry their shares side by side", "[fidelity][pd]") {
  SplitBench bench = one_request("distserve");
  Scenario four = *bench.scenario.cluster.pools[0].own;
  four.parallel.tensor_parallel_size = 4;
  Scenario two = four;
  two.parallel.tensor_parallel_size = 2;
  bench.scenario.cluster.pools[0].own = std::make_shared<const Scenario>(four);
  bench.scenario.cluster.pools[1].own = std::make_shared<const Scenario>(two);
  CHECK(part(record_of(bench), LatencyPart::kTransfer) == SimTime::from_us(100 + 8192));
  bench.scenario.cluster.transfer.per_gpu = false;
  CHECK(part(record_of(bench), LatencyPart::kTransfer) == SimTime::from_us(100 + 16384));
}

TEST_CASE("an answer of one token is not sent anywhere", "[fidelity][pd]") {
  SplitBench bench = one_request("splitwise");
  bench.scenario.workload.output_len.value = 1;
  Sent sent;
  Observer* observers[] = {&sent};
  bench.run(observers);
  CHECK(sent.transfers.empty());
  CHECK(sent.records.at(0).replica == 0);
  CHECK(sent.records.at(0).finish - sent.records.at(0).arrival == SimTime::from_ms(11));
}

TEST_CASE("conservation across transfers", "[fidelity][pd]") {
  for (const char* rule : {"distserve", "splitwise"}) {
    const SplitBench bench = busy("vllm-v1", rule);
    Sent sent;
    Observer* observers[] = {&sent};
    RunOptions options;
    options.check_every_event = true;
    const RunOutcome outcome = bench.run(observers, options);
    REQUIRE(sent.records.size() == 300);
    std::set<std::uint64_t> moved;
    std::map<std::uint32_t, SimTime> sends_free, gets_free;
    double bytes = 0;
    for (const TransferRecord& t : sent.transfers) {
      CHECK(moved.insert(t.request).second);  // once
      CHECK(t.bytes == Approx(t.prompt_tokens * SplitBench::kBytesPerToken));
      CHECK(t.handed <= t.start);
      // One at a time over each link; they are announced in order of their ends.
      CHECK(sends_free[t.from] <= t.start);
      CHECK(gets_free[t.to] <= t.start);
      sends_free[t.from] = gets_free[t.to] = t.end;
      CHECK(t.from < 2);
      CHECK(t.to >= 2);
      bytes += t.bytes;
    }
    CHECK(outcome.transfers.transfers == std::ssize(sent.transfers));
    CHECK(outcome.transfers.bytes == Approx(bytes));
    for (const RequestRecord& r : sent.records) {
      CHECK_FALSE(r.failed);
      CHECK((part(r, LatencyPart::kTransfer) > SimTime()) == moved.contains(r.id));
      if (!moved.contains(r.id)) continue;
      CHECK(r.replica >= 2);
    }
    CHECK(moved.size() > 200);
  }
}

TEST_CASE("tokens are those of replicas that do both", "[fidelity][pd]") {
  Sent split, whole;
  Observer* of_split[] = {&split};
  Observer* of_whole[] = {&whole};
  busy("vllm-v1", "distserve").run(of_split);
  busy_engine("vllm-v1").run(of_whole);
  const auto a = split.by_id(), b = whole.by_id();
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].prompt_tokens == b[i].prompt_tokens);
    CHECK(a[i].output_tokens == b[i].output_tokens);
    CHECK(a[i].finish_reason == b[i].finish_reason);
  }
}

TEST_CASE("INV-7 INV-8: two replicas a request, whatever the scheduler", "[fidelity][pd][skip]") {
  for (const SchedulerEntry& row : scheduler_table()) {
    if (!row.receives_kv) continue;
    for (const char* rule : {"distserve", "splitwise"}) {
      INFO(row.name << " " << rule);
      const SplitBench bench = busy(std::string(row.name), rule);
      Sent ahead, stepping;
      Observer* of_ahead[] = {&ahead};
      Observer* of_stepping[] = {&stepping};
      RunOptions options;
      const RunOutcome first = bench.run(of_ahead, options);
      options.step_by_step = true;
      const RunOutcome second = bench.run(of_stepping, options);
      CHECK(first.fingerprint == second.fingerprint);
      CHECK(first.steps == second.steps);
      CHECK(first.transfers.bytes == second.transfers.bytes);
      CHECK(first.transfers.mean_ms == second.transfers.mean_ms);
      const auto a = ahead.by_id(), b = stepping.by_id();
      REQUIRE(a.size() == b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i].first_token == b[i].first_token);
        CHECK(a[i].finish == b[i].finish);
        CHECK(a[i].max_itl == b[i].max_itl);
        CHECK(a[i].split == b[i].split);
        CHECK(a[i].preemptions == b[i].preemptions);
      }
    }
  }
}

TEST_CASE("back-pressure: a decoding pool without room holds up those that compute prompts",
          "[fidelity][pd]") {
  for (const char* rule : {"distserve", "splitwise"}) {
    SplitBench bench = busy("vllm-v1", rule);
    bench.pools[0].scheduler.num_blocks = 80;  // two of the longest prompts
    bench.pools[1].scheduler.num_blocks = 50;  // one, with its answer
    Sent sent;
    Observer* observers[] = {&sent};
    RunOptions options;
    options.check_every_event = true;
    const RunOutcome outcome = bench.run(observers, options);  // ends, with nothing held (INV-2, INV-6)
    CHECK(sent.records.size() == 300);
    for (const RequestRecord& r : sent.records) CHECK_FALSE(r.failed);
    CHECK(outcome.transfers.mean_wait_ms > 5);
    // The prompts behind them wait for the blocks that are still to be sent.
    Sent free;
    Observer* of_free[] = {&free};
    busy("vllm-v1", rule).run(of_free);
    const auto queueing = [](const Sent& run) {
      SimTime sum;
      for (const RequestRecord& r : run.records) sum += r.scheduled - r.arrival;
      return sum;
    };
    CHECK(queueing(sent) > queueing(free));
  }
}

TEST_CASE("a request that the decoding pool can never hold is refused, and its KV released",
          "[fidelity][pd]") {
  SplitBench bench = busy("vllm-v1", "distserve");
  bench.pools[1].scheduler.num_blocks = 21;  // 320 tokens
  Sent sent;
  Observer* observers[] = {&sent};
  bench.run(observers);
  std::int64_t refused = 0;
  for (const RequestRecord& r : sent.records) {
    refused += r.failed;
    if (r.failed) CHECK(r.finish_reason.find("KV blocks") != std::string::npos);
  }
  CHECK(refused > 50);
  CHECK(refused < 250);
}

TEST_CASE("splitwise: the decoding pool lends where prompts queue", "[fidelity][pd]") {
  for (const std::int64_t above : {0, 700, 1'000'000}) {
    SplitBench bench = busy("vllm-v1", "splitwise");
    bench.scenario.cluster.transfer.lend_above_tokens = above;
    Sent sent;
    Observer* observers[] = {&sent};
    bench.run(observers);
    std::set<std::uint64_t> moved;
    for (const TransferRecord& t : sent.transfers) moved.insert(t.request);
    std::int64_t lent = 0;
    for (const RequestRecord& r : sent.records) {
      CHECK_FALSE(r.failed);
      if (r.replica >= 2 && !moved.contains(r.id)) ++lent;
    }
    INFO("above " << above << ": " << lent << " lent");
    CHECK((lent > 5) == (above < 1'000'000));
    if (above == 1'000'000) CHECK(lent == 0);
  }
}

TEST_CASE("several samples of a prompt stay in one replica that decodes", "[fidelity][pd]") {
  SplitBench bench = busy("vllm-v1", "splitwise");
  bench.scenario.workload.samples = 3;
  Sent sent;
  Observer* observers[] = {&sent};
  bench.run(observers);
  CHECK(sent.transfers.empty());
  for (const RequestRecord& r : sent.records) CHECK(r.replica >= 2);
}

TEST_CASE("data-parallel ranks on both sides of a transfer", "[fidelity][pd]") {
  for (const bool in_step : {false, true}) {
    SplitBench bench = busy("vllm-v1", "distserve");
    for (Blueprint& pool : bench.pools) {
      pool.data_parallel_size = 2;
      pool.replica.in_step = in_step;
    }
    Sent sent;
    Observer* observers[] = {&sent};
    RunOptions options;
    options.check_every_event = true;
    bench.run(observers, options);
    CHECK(sent.records.size() == 300);
    std::set<std::uint32_t> from, to;
    for (const TransferRecord& t : sent.transfers) {
      from.insert(t.from);
      to.insert(t.to);
    }
    CHECK(from == std::set<std::uint32_t>{0, 1, 2, 3});
    CHECK(to == std::set<std::uint32_t>{4, 5, 6, 7});
  }
}

TEST_CASE("asynchronous scheduling, prefix caches and priorities on both sides",
          "[fidelity][pd][skip]") {
  const auto run = [](bool step_by_step) {
    SplitBench bench = busy("vllm-v1", "splitwise");
    for (Blueprint& pool : bench.pools) {
      pool.scheduler.engine.async_scheduling = true;
      pool.scheduler.engine.enable_prefix_caching = true;
      pool.scheduler.engine.policy = "priority";
      pool.scheduler.batches_in_flight = pool.replica.batches_in_flight = 2;
    }
    SessionOptions& sessions = bench.scenario.workload.sessions.emplace();
    sessions.turns.value = 3;
    sessions.new_input_len.value = 50;
    bench.scenario.workload.num_prompts = 300;
    Sent sent;
    Observer* observers[] = {&sent};
    RunOptions options;
    options.step_by_step = step_by_step;
    const RunOutcome outcome = bench.run(observers, options);
    std::int64_t cached = 0;
    for (const TransferRecord& t : sent.transfers) cached += t.cached_tokens;
    CHECK(cached > 0);  // of earlier turns: not sent again
    CHECK(sent.records.size() == 300);
    return outcome.fingerprint;
  };
  CHECK(run(false) == run(true));
}

TEST_CASE("a request's life in two replicas is told piece by piece", "[fidelity][pd]") {
  const SplitBench bench = busy("vllm-v1", "distserve");
  LifeObserver told;
  Observer* observers[] = {&told};
  RunOptions options;
  options.step_by_step = true;
  bench.run(observers, options);
  REQUIRE(told.lives().size() == 300);
  std::int64_t moved = 0;
  for (const RequestLife& life : told.lives()) {
    LatencySplit sum{};
    SimTime moving;
    for (const LifePiece& piece : life.pieces) {
      for (std::size_t i = 0; i < kLatencyParts; ++i) sum[i] += piece.split[i];
      if (piece.phase == LifePhase::kMoving) moving += piece.to - piece.from;
    }
    INFO("request " << life.record.id);
    CHECK(sum == life.record.split);
    CHECK(moving == part(life.record, LatencyPart::kTransfer));
    moved += moving > SimTime();
  }
  CHECK(moved > 200);
}
