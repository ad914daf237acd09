// KV memory of four allocators under the same requests.
#include "sim/core/number_text.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

struct Allocator {
  const char *kv, *what;
};
constexpr Allocator kAllocators[] = {
    {"reserve-max", "contiguous, the longest possible"},
    {"reserve-pow2", "contiguous, the next power of two"},
    {"reserve-exact", "contiguous, the true length (an oracle)"},
    {"paged", "paged, blocks of 16 tokens"},
};

}  // namespace

DemoAnswer run_fragmentation_demo(const std::string& name) {
  const Scenario base = lecture_scenario(name);
  DemoTable table{"",
                  {{"reserved for a sequence", "held and empty", "free but scattered",
                    "sequences a step", "output tok/s", "TTFT mean"}}};
  std::vector<RunSummary> runs;
  for (const Allocator& a : kAllocators) {
    runs.push_back(run_lecture(lecture_scenario(name, {{"engine.kv_allocator", a.kv}})).summary);
    const RunSummary& r = runs.back();
    table.rows.push_back({a.what, percent_text(r.engine.kv_internal_waste),
                          percent_text(r.engine.kv_external_waste), fixed(r.engine.mean_batch, 1),
                          fixed(r.output_throughput, 0), time_text(r.ttft_ms.mean / 1e3)});
  }
  const RunSummary &max = runs.front(), &paged = runs.back();
  DemoAnswer demo;
  demo.setup = base.model.name + " on " + base.gpu_name + " (" + base.profile + "), " +
               bytes_text(static_cast<double>(base.engine.kv_cache_memory_bytes)) +
               " of KV cache, max_model_len " + std::to_string(base.engine.max_model_len) + ", " +
               std::to_string(base.workload.num_prompts) + " requests at once.";
  demo.tables = {table};
  const bool better = paged.engine.mean_batch > max.engine.mean_batch;
  demo.answer = "Reserving the longest possible answer leaves " +
                percent_text(max.engine.kv_internal_waste) + " of the held slots empty and seats " +
                fixed(max.engine.mean_batch, 1) + " sequences, paging leaves " +
                percent_text(paged.engine.kv_internal_waste) + " and seats " +
                fixed(paged.engine.mean_batch, 1) + ": paging " + (better ? "wins" : "loses") +
                ", with " + fixed(paged.output_throughput, 0) + " instead of " +
                fixed(max.output_throughput, 0) + " tokens/s.";
  return demo;
}

}  // namespace headway
