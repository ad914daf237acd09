// Limits at the gateway, by hand and under load, with every router behind it.
#include <algorithm>
#include <limits>

#include "sim/core/errors.h"
#include "sim/routing/router.h"
#include "tests/support/busy_engine.h"
#include "tests/support/catch.h"
#include "tests/support/fleet_bench.h"
#include "tests/support/temp_folder.h"

using namespace headway;

namespace {

// Six requests at once for a replica that serves one at a time, a millisecond each; one is let in.
BenchEngine one_by_one() {
  BenchEngine bench;
  bench.engine().max_num_seqs = 1;
  bench.scenario.cluster.admission.max_outstanding = 1;
  bench.workload().num_prompts = 6;
  bench.workload().request_rate = std::numeric_limits<double>::infinity();
  return bench;
}

std::vector<RequestRecord> by_id(BenchEngine& bench) {
  Finished finished;
  Observer* observers[] = {&finished};
  RunOptions options;
  options.check_every_event = true;  // INV-1: those at the gateway count as waiting
  bench.run(observers, options);
  std::sort(finished.records.begin(), finished.records.end(),
            [](auto& a, auto& b) { return a.id < b.id; });
  return finished.records;
}

double queue_ms(const RequestRecord& r) {
  return r.split[static_cast<std::size_t>(LatencyPart::kQueue)].ms();
}

}  // namespace

TEST_CASE("what a request waits at the gateway is queueing; a full queue rejects", "[fidelity][fleet]") {
  BenchEngine bench = one_by_one();
  bench.scenario.cluster.admission.max_queue = 3;
  const auto records = by_id(bench);
  REQUIRE(records.size() == 6);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK_FALSE(records[i].failed);
    CHECK(records[i].finish == SimTime::from_ms(static_cast<double>(i + 1)));
    CHECK(queue_ms(records[i]) == static_cast<double>(i));
    CHECK(records[i].split[static_cast<std::size_t>(LatencyPart::kHost)] == SimTime());
  }
  for (std::size_t i = 4; i < 6; ++i) {
    CHECK(records[i].failed);
    CHECK(records[i].finish_reason == "queue full");
    CHECK(records[i].finish == SimTime());
    CHECK(records[i].replica == kNoReplica);
  }
}

TEST_CASE("who waits too long gives up at that instant", "[fidelity][fleet]") {
  BenchEngine bench = one_by_one();
  bench.scenario.cluster.admission.max_wait_s = 0.0025;
  const auto records = by_id(bench);
  for (std::size_t i = 0; i < 6; ++i) {
    INFO("request " << i);
    CHECK(records[i].failed == (i > 2));
    CHECK(records[i].finish == SimTime::from_ms(i > 2 ? 2.5 : static_cast<double>(i + 1)));
  }
  CHECK(records[3].finish_reason == "gave up waiting at the gateway");
}

TEST_CASE("the urgent go first, the unimportant are shed", "[fidelity][fleet]") {
  const test::TempFolder folder;
  BenchEngine bench = one_by_one();
  bench.scenario.cluster.admission.shed_priority_above = 2;
  bench.workload().trace = folder.write("t.csv",
                                        "arrival_s,input_tokens,output_tokens,priority\n"
                                        "0,16,1,9\n0,16,1,2\n0,16,1,0\n0,16,1,3\n0,16,1,0\n");
  const auto records = by_id(bench);
  REQUIRE(records.size() == 5);
  const double finish_ms[] = {1, 4, 2, 0, 3};  // the first found a place, whatever its priority
  for (std::size_t i = 0; i < 5; ++i) CHECK(records[i].finish.ms() == finish_ms[i]);
  CHECK(records[3].finish_reason == "shed, too low a priority for the load");
}

TEST_CASE("a closed loop goes on when its requests are rejected", "[fidelity][fleet]") {
  BenchEngine bench = one_by_one();
  bench.scenario.cluster.admission.max_queue = 0;
  bench.workload().num_prompts = 50;
  bench.workload().max_concurrency = 3;
  const auto records = by_id(bench);
  REQUIRE(records.size() == 50);
  CHECK(std::count_if(records.begin(), records.end(), [](auto& r) { return r.failed; }) == 49);
}

TEST_CASE("a trace that lacks what the router needs is refused, and what has it is not",
          "[fidelity][fleet]") {
  const test::TempFolder folder;
  const auto run = [&](const char* router, const std::string& column, const std::string& value) {
    BenchEngine bench = one_by_one();
    bench.scenario.file = "s.json";
    bench.scenario.cluster.router = router;
    bench.workload().trace = folder.write("t.csv", "arrival_s,input_tokens,output_tokens," + column +
                                                       "\n0,16,1,\n0,16,1," + value + "\n");
    bench.run({});
  };
  CHECK_NOTHROW(run("cache-aware", "hash_ids", "7"));
  CHECK_NOTHROW(run("cache-aware", "session_id", "7"));
  CHECK_NOTHROW(run("session-sticky", "session_id", "7"));
  CHECK_NOTHROW(run("priority", "priority", "1"));
  CHECK_THROWS_WITH(run("cache-aware", "priority", "1"),
                    ContainsSubstring("s.json: cluster.router: found \"cache-aware\"") &&
                        ContainsSubstring("hash_ids, prefix_group or session_id"));
  CHECK_THROWS_WITH(run("session-sticky", "hash_ids", "7"), ContainsSubstring("has a session"));
  CHECK_THROWS_WITH(run("priority", "priority", "0"), ContainsSubstring("other than 0"));
}

TEST_CASE("INV-1 INV-7 INV-8: every router behind a limited gateway, skipping and stepping",
          "[fidelity][fleet][skip]") {
  for (const RouterEntry& row : router_table()) {
    INFO(row.name);
    const auto outcome = [&](bool step_by_step) {
      BenchEngine bench = busy_engine("vllm-v1");
      bench.scenario.cluster.router = row.name;
      bench.scenario.cluster.replicas = 3;
      bench.scenario.cluster.admission.max_outstanding_per_replica = 12;
      bench.scenario.cluster.admission.max_queue = 30;
      bench.scenario.cluster.admission.max_wait_s = 1.0;
      bench.workload().tenants = {{1, 0}, {1, 1}};
      RunOptions options;
      options.step_by_step = step_by_step;
      options.check_every_event = true;
      return bench.run({}, options);
    };
    const RunOutcome ahead = outcome(false), again = outcome(false), stepped = outcome(true);
    CHECK(ahead.fingerprint == again.fingerprint);
    CHECK(ahead.fingerprint == stepped.fingerprint);
    CHECK(ahead.end == stepped.end);
    CHECK(ahead.requests == 300);
  }
}
