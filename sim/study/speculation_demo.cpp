// From two distributions to a speed-up: the acceptance rate of a draft is the overlap of its
// distribution with the target's; the exact sampler confirms it on drawn tokens; the simulator then
// says what that rate is worth under load.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "sim/cluster/simulation.h"
#include "sim/core/random.h"
#include "sim/metrics/run_metrics.h"
#include "sim/replica/rejection_sampling.h"
#include "sim/scenario/parse.h"
#include "sim/study/demo.h"

namespace headway {
namespace {

constexpr std::size_t kVocabulary = 32'000;
constexpr int kDrafts = 3;
constexpr int kDrawn = 2000;
constexpr int kBatches[] = {1, 4, 16, 64, 256};

struct Acceptance {
  double overlap;   // computed from the distributions
  double measured;  // of tokens drawn from the draft and verified
};

// A target with a language model's long tail, and a draft that sees its logits through noise.
Acceptance measure_acceptance(double draft_noise) {
  RandomStream random(1, "speculation demo");
  std::vector<double> target(kVocabulary), draft(kVocabulary);
  for (std::size_t i = 0; i < kVocabulary; ++i) {
    target[i] = -1.5 * std::log(static_cast<double>(i + 1)) + random.normal(0.0, 1.0);
    draft[i] = target[i] + random.normal(0.0, draft_noise);
  }
  const std::vector<double> p = softmax(draft, 1.0), q = softmax(target, 1.0);
  int accepted = 0;
  for (int i = 0; i < kDrawn; ++i) accepted += verify_token(draw(p, random), p, q, random).accepted;
  return {acceptance_probability(p, q), static_cast<double>(accepted) / kDrawn};
}

struct Point {
  double tpot_ms, output_tokens_per_s, acceptance_length;
};

Point simulate_batch(int batch, double acceptance) {
  std::string json = fmt::format(
      R"({{"name": "speculation demo", "model": "llama-3.1-8b", "gpu": "h100-sxm",
          "profile": "h100-sxm/vllm-0.24.0",
          "engine": {{"max_num_seqs": 256, "enable_prefix_caching": false}},
          "workload": {{"num_prompts": {}, "max_concurrency": {}, "input_len": 512, "output_len": 256}})",
      std::max(2 * batch, 8), batch);
  if (acceptance > 0) {
    json += fmt::format(R"(, "speculation": {{"method": "draft_model", "draft_model": "llama-3.2-1b",
                         "num_speculative_tokens": {}, "acceptance": {}}})",
                        kDrafts, acceptance);
  }
  RunMetrics metrics;
  Observer* observers[] = {&metrics};
  const RunOutcome outcome = simulate(parse_scenario(json + "}", "speculation demo"), observers);
  const RunSummary r = metrics.result();
  return {r.tpot_ms.mean, r.output_throughput, outcome.speculation.mean_acceptance_length()};
}

}  // namespace

std::string run_speculation_demo() {
  std::string out = fmt::format(
      "A target over {} tokens, three drafts that see its logits through more and more noise, {} drafts a "
      "step.\nLlama-3.1-8B with Llama-3.2-1B as the draft on one H100, 512 + 256 tokens, closed loop.\n\n",
      kVocabulary, kDrafts);
  out += fmt::format("{:>10} {:>8} {:>9} {:>11}", "noise", "overlap", "accepted", "tokens/step");
  for (int batch : kBatches) out += fmt::format(" {:>9}", fmt::format("B = {}", batch));
  out += "   (speed-up of TPOT)\n";
  std::vector<Point> plain;
  for (int batch : kBatches) plain.push_back(simulate_batch(batch, 0.0));
  int last_gain = 0, first_loss = 0;
  double best = 0;
  for (const double noise : {0.3, 0.8, 1.6}) {
    const Acceptance a = measure_acceptance(noise);
    std::string row;
    double length = 0;
    for (std::size_t i = 0; i < std::size(kBatches); ++i) {
      const Point point = simulate_batch(kBatches[i], a.overlap);
      const double speedup = plain[i].tpot_ms / point.tpot_ms;
      length = point.acceptance_length;
      row += fmt::format(" {:>8.2f}x", speedup);
      best = std::max(best, speedup);
      if (noise != 0.8) continue;
      if (speedup > 1.0) last_gain = kBatches[i];
      if (speedup < 1.0 && first_loss == 0) first_loss = kBatches[i];
    }
    out += fmt::format("{:>10.1f} {:>8.3f} {:>9.3f} {:>11.2f}{}\n", noise, a.overlap, a.measured, length, row);
  }
  out += fmt::format("\nThe overlap of the two distributions is the acceptance rate (drawn and verified: {} tokens "
                     "each).\n",
                     kDrawn);
  if (first_loss > 0) {
    out += fmt::format("Speculation trades spare compute for bandwidth: up to {:.2f}x here, with the middle draft a gain up to a batch "
                       "of {} and a loss from {}.\n",
                       best, last_gain, first_loss);
  } else {
    out += fmt::format("Speculation trades spare compute for bandwidth: up to {:.2f}x here, and with the middle draft no loss up to a "
                       "batch of {}.\n",
                       best, last_gain);
  }
  return out;
}

}  // namespace headway
