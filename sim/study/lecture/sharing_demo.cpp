// One copy of the KV of equal beginnings: a system prompt across requests, a prompt across the
// samples that answer it (copied on write, block by block).
#include "sim/core/number_text.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

constexpr int kSamples = 6;

}  // namespace

DemoAnswer run_sharing_demo(const std::string& name) {
  const Scenario base = lecture_scenario(name);
  DemoTable prefix{
      "The system prompt of " + std::to_string(base.workload.sessions->shared_prefix_tokens) +
          " tokens, shared by all requests",
      {{"prefix cache", "prompt tokens served", "KV blocks, peak", "TTFT mean", "TPOT mean"}}};
  std::vector<RunSummary> cached;
  for (const char* on : {"false", "true"}) {
    const LectureRun run =
        run_lecture(lecture_scenario(name, {{"engine.enable_prefix_caching", on}}));
    const RunSummary& r = run.summary;
    cached.push_back(r);
    prefix.rows.push_back(
        {on == std::string("true") ? "on" : "off",
         percent_text(static_cast<double>(r.cached_tokens) / static_cast<double>(r.input_tokens)),
         grouped(r.engine.kv_peak_blocks), time_text(r.ttft_ms.mean / 1e3),
         time_text(r.tpot_ms.mean / 1e3)});
  }
  DemoTable samples{
      std::to_string(kSamples) + " answers to each prompt, without a prefix cache",
      {{"prompt's blocks", "KV blocks, peak", "copied on write", "saved", "E2EL mean"}}};
  std::string saved, copied;
  for (const char* shared : {"false", "true"}) {
    const LectureRun run =
        run_lecture(lecture_scenario(name, {{"engine.enable_prefix_caching", "false"},
                                            {"engine.share_prompt_blocks", shared},
                                            {"workload.num_prompts", "50"},
                                            {"workload.samples", std::to_string(kSamples)}}));
    const SharingStats& sharing = run.outcome.sharing;
    saved = percent_text(sharing.saving());
    copied = grouped(sharing.copied_blocks);
    samples.rows.push_back({shared == std::string("true") ? "shared" : "one copy a sample",
                            grouped(run.summary.engine.kv_peak_blocks), copied, saved,
                            time_text(run.summary.e2el_ms.mean / 1e3)});
  }
  const RunSummary &off = cached[0], &on = cached[1];
  DemoAnswer demo;
  demo.setup = base.model.name + " on " + base.gpu_name + " (" + base.profile + "), " +
               significant(base.workload.request_rate, 2) + " requests a second.";
  demo.tables = {prefix, samples};
  demo.answer =
      "The shared beginning is computed once: the first token comes after " +
      time_text(on.ttft_ms.mean / 1e3) + " instead of " + time_text(off.ttft_ms.mean / 1e3) +
      " and the KV peaks at " + grouped(on.engine.kv_peak_blocks) + " instead of " +
      grouped(off.engine.kv_peak_blocks) + " blocks; samples that share their prompt save " +
      saved + " of the blocks, for " + copied + " copied on write.";
  return demo;
}

}  // namespace headway
