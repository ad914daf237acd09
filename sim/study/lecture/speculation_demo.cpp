// From two distributions to a speed-up: the acceptance rate of a draft is the overlap of its
// distribution with the target's; the exact sampler confirms it on drawn tokens; the simulator then
// says what that rate is worth under load. Two tokens show why the output is the target's.
#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/core/number_text.h"
#include "sim/core/random.h"
#include "sim/replica/rejection_sampling.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

constexpr std::size_t kVocabulary = 32'000;
constexpr int kDrafts = 3;
constexpr int kDrawn = 2000, kDrawnOfTwo = 100'000;
constexpr int kDraftedBatches[] = {1, 4, 16, 64, 256};
constexpr double kNoises[] = {0.3, 0.8, 1.6};
constexpr double kMiddle = 0.8;

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
  double tpot_ms, acceptance_length;
};

Point simulate_batch(const std::string& name, int batch, double acceptance) {
  std::vector<Setting> settings = {{"workload.num_prompts", std::to_string(std::max(2 * batch, 8))},
                                   {"workload.max_concurrency", std::to_string(batch)}};
  if (acceptance > 0) {
    settings.push_back({"speculation.method", "draft_model"});
    settings.push_back({"speculation.draft_model", "llama-3.2-1b"});
    settings.push_back({"speculation.num_speculative_tokens", std::to_string(kDrafts)});
    settings.push_back({"speculation.acceptance", std::to_string(acceptance)});
  }
  const LectureRun run = run_lecture(lecture_scenario(name, settings));
  return {run.summary.tpot_ms.mean, run.outcome.speculation.mean_acceptance_length()};
}

// P[A] and P[B] of what comes out when the draft says A more often than the target does: accepted
// drafts and replacements, by the rule and by drawing.
DemoTable exactness() {
  const std::vector<double> p{0.8, 0.2}, q{0.5, 0.5};  // draft, target
  const double accept_a = std::min(1.0, q[0] / p[0]), accept_b = std::min(1.0, q[1] / p[1]);
  const double rejected = p[0] * (1 - accept_a) + p[1] * (1 - accept_b);
  const double rest_a = std::max(q[0] - p[0], 0.0), rest_b = std::max(q[1] - p[1], 0.0);
  const double out_a = p[0] * accept_a + rejected * rest_a / (rest_a + rest_b);
  const double out_b = p[1] * accept_b + rejected * rest_b / (rest_a + rest_b);
  RandomStream random(1, "two tokens");
  int drawn_a = 0;
  for (int i = 0; i < kDrawnOfTwo; ++i) {
    drawn_a += verify_token(draw(p, random), p, q, random).token == 0;
  }
  const double share_a = static_cast<double>(drawn_a) / kDrawnOfTwo;
  DemoTable table{
      "Two tokens, of which the draft likes A more than the target does (" + grouped(kDrawnOfTwo) +
          " drawn)",
      {{"token", "draft p", "target q", "accepted min(1, q/p)", "comes out with", "drawn"}}};
  table.rows.push_back({"A", fixed(p[0], 2), fixed(q[0], 2), fixed(accept_a, 3), fixed(out_a, 2),
                        fixed(share_a, 3)});
  table.rows.push_back({"B", fixed(p[1], 2), fixed(q[1], 2), fixed(accept_b, 3), fixed(out_b, 2),
                        fixed(1 - share_a, 3)});
  return table;
}

}  // namespace

DemoAnswer run_speculation_demo(const std::string& name) {
  const Scenario base = lecture_scenario(name);
  DemoTable table{"Speed-up of TPOT at B users",
                  {{"noise", "overlap", "accepted", "tokens a pass"}}};
  std::vector<Point> plain;
  for (const int batch : kDraftedBatches) {
    table.rows[0].push_back("B = " + std::to_string(batch));
    plain.push_back(simulate_batch(name, batch, 0.0));
  }
  int last_gain = 0, first_loss = 0;
  double best = 0;
  for (const double noise : kNoises) {
    const Acceptance a = measure_acceptance(noise);
    std::vector<std::string> row{fixed(noise, 1), fixed(a.overlap, 3), fixed(a.measured, 3), ""};
    for (std::size_t i = 0; i < std::size(kDraftedBatches); ++i) {
      const Point point = simulate_batch(name, kDraftedBatches[i], a.overlap);
      const double speedup = plain[i].tpot_ms / point.tpot_ms;
      row[3] = fixed(point.acceptance_length, 2);
      row.push_back(fixed(speedup, 2));
      best = std::max(best, speedup);
      if (noise != kMiddle) continue;
      if (speedup > 1.0) last_gain = kDraftedBatches[i];
      if (speedup < 1.0 && first_loss == 0) first_loss = kDraftedBatches[i];
    }
    table.rows.push_back(row);
  }
  DemoAnswer demo;
  demo.setup = base.model.name + " with llama-3.2-1b as its draft on " + base.gpu_name + " (" +
               base.profile + "), " + std::to_string(kDrafts) +
               " drafts a pass, closed loop; "
               "a target over " +
               grouped(static_cast<std::int64_t>(kVocabulary)) +
               " tokens, and three drafts that see its logits through more and more noise. Of " +
               grouped(kDrawn) +
               " tokens drawn, "
               "\"accepted\" passed; the overlap of the two "
               "distributions says how many that must be.";
  demo.tables = {table, exactness()};
  const TextTable& two = demo.tables[1].rows;
  demo.answer =
      "Speculation trades spare compute for bandwidth: it makes a token up to " + fixed(best, 2) +
      " times as fast, and with the draft of noise " + fixed(kMiddle, 1) +
      (first_loss > 0 ? " it wins up to B = " + std::to_string(last_gain) +
                            " and loses from B = " + std::to_string(first_loss)
                      : " it wins up to B = " + std::to_string(last_gain) + ", the largest tried") +
      "; what comes out is the target's own distribution, P[A] = " + two[1][4] +
      (two[1][4] == two[1][2] ? " = q(A)." : ", not q(A).");
  return demo;
}

}  // namespace headway
