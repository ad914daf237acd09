// INV-9: a run and the replay of its written trace are the same run.
#include "sim/workload/trace_writer.h"

#include "tests/support/bench_engine.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

using namespace headway;

namespace {

class Latencies : public Observer {
 public:
  void on_finish(const RequestRecord& r) override {
    rows.push_back({static_cast<std::int64_t>(r.id), (r.first_token - r.arrival).ns(),
                    (r.finish - r.arrival).ns(), r.output_tokens, r.preemptions});
  }
  std::vector<std::array<std::int64_t, 5>> rows;
};

std::vector<std::array<std::int64_t, 5>> latencies(const WorkloadOptions& workload) {
  BenchEngine bench;
  bench.cost(3000.0, 15.0, 40.0);
  bench.engine().max_model_len = bench.blueprint.replica.max_model_len = 16'384;
  bench.blueprint.scheduler.num_blocks = 2000;
  bench.scenario.workload = workload;
  Latencies heard;
  Observer* observers[] = {&heard};
  bench.run(observers);
  return heard.rows;
}

}  // namespace

TEST_CASE("INV-9: run equals replay of the written trace", "[fidelity]") {
  WorkloadOptions azure;
  azure.trace = "azure-2023-conv";
  azure.limit = 1500;
  azure.rate_scale = 1.7;
  WorkloadOptions generated;
  generated.num_prompts = 500;
  generated.request_rate = 12;
  generated.burstiness = 0.5;
  generated.input_len = {.distribution = "uniform", .low = 1, .high = 900};
  generated.output_len = {.distribution = "uniform", .low = 1, .high = 90};
  for (const WorkloadOptions& original : {azure, generated}) {
    const test::TempFolder folder;
    for (const char* name : {"replay.csv", "replay.csv.gz", "replay.jsonl"}) {
      // Mooncake's form has whole milliseconds: the trace it can hold is the one to compare with.
      if (std::string(name) == "replay.jsonl" && original.generated()) continue;
      std::vector<std::string> notes;
      convert_trace(original, "", folder / name, "", notes);
      WorkloadOptions replay;
      replay.trace = folder / name;
      INFO(name);
      if (std::string(name) == "replay.jsonl") {
        WorkloadOptions again;
        again.trace = folder / "again.csv";
        convert_trace(replay, "", folder / "again.csv", "", notes);
        CHECK(latencies(replay) == latencies(again));
      } else {
        CHECK(latencies(replay) == latencies(original));
      }
    }
  }
}
