// Prompts against answers on one GPU: whole prompts in a step, and prompts in chunks.
#include "sim/core/number_text.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

struct Policy {
  const char* name;
  std::vector<Setting> settings;
};

std::vector<Policy> policies() {
  std::vector<Policy> list;
  list.push_back({"prompts first, whole (vllm-v0)",
                  {{"engine.scheduler", "vllm-v0"},
                   {"engine.enable_chunked_prefill", "false"},
                   {"engine.max_num_batched_tokens", "16384"}}});
  for (const char* budget : {"8192", "2048", "512", "256"}) {
    list.push_back({budget, {{"engine.max_num_batched_tokens", budget}}});
  }
  return list;
}

}  // namespace

DemoAnswer run_chunking_demo(const std::string& name) {
  const Scenario base = lecture_scenario(name);
  DemoTable table{"",
                  {{"tokens a step, at most", "TTFT mean", "TPOT mean, ms", "TPOT p99, ms",
                    "longest gap, ms", "held up by others' prompts"}}};
  struct Told {
    std::string name, ttft, gap;
    double gap_ms, ttft_ms;
  };
  std::vector<Told> told;
  for (const Policy& policy : policies()) {
    const RunSummary r = run_lecture(lecture_scenario(name, policy.settings)).summary;
    const double interference =
        r.attribution_ms[static_cast<std::size_t>(LatencyPart::kInterference)] / r.e2el_ms.mean;
    told.push_back({policy.name, time_text(r.ttft_ms.mean / 1e3), fixed(r.itl_ms.max, 0),
                    r.itl_ms.max, r.ttft_ms.mean});
    table.rows.push_back({policy.name, told.back().ttft, fixed(r.tpot_ms.mean, 2),
                          fixed(r.tpot_ms.p99, 2), told.back().gap,
                          fixed(100 * interference, 1) + " %"});
  }
  const Told &whole = told.front(), &small = told.back();
  DemoAnswer demo;
  demo.setup = base.model.name + " on " + base.gpu_name + " (" + base.profile + "), " +
               significant(base.workload.request_rate, 2) +
               " requests a second: " + fixed(base.workload.input_len.parts[0].value, 0) +
               " tokens of prompt, or " + fixed(base.workload.input_len.parts[1].value, 0) + ".";
  demo.tables = {table};
  demo.answer = "A prompt computed in one step stops every answer for up to " + whole.gap +
                " ms; with " + small.name + " tokens a step the longest gap is " + small.gap +
                " ms, and the price is a first token after " + small.ttft + " instead of " +
                whole.ttft + (small.ttft_ms > whole.ttft_ms ? "." : ", which is none here.");
  return demo;
}

}  // namespace headway
