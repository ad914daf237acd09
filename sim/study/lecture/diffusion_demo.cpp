// A diffusion language model computes a whole block in every pass and refines it for a number of
// passes; an autoregressive one of the same layers computes a token a pass.
#include <algorithm>

#include "sim/core/number_text.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

constexpr int kPasses[] = {32, 16, 8, 4};
constexpr int kTold = 8;  // the row that the answer tells of
constexpr int kUsers[] = {1, 8, 32, 128};

// Output tokens a second; 0 passes: one token after the other.
double rate_of(const std::string& name, int users, int passes) {
  Scenario s =
      lecture_scenario(name, {{"workload.max_concurrency", std::to_string(users)},
                              {"workload.num_prompts", std::to_string(std::max(2 * users, 4))}});
  if (passes == 0) {
    s.model.generation = {};
    s.engine.scheduler = "vllm-v1";
  } else {
    s.model.generation.refinement_steps = passes;
  }
  return run_lecture(s).summary.output_throughput;
}

}  // namespace

DemoAnswer run_diffusion_demo(const std::string& name) {
  const Scenario base = lecture_scenario(name);
  const int block = base.model.generation.block_length;
  DemoTable table{"Tokens/s of all users (times those of one token a pass)", {{"tokens a pass"}}};
  std::vector<double> plain;
  std::vector<std::string> row{"1, autoregressive"};
  for (const int users : kUsers) {
    table.rows[0].push_back("B = " + std::to_string(users));
    plain.push_back(rate_of(name, users, 0));
    row.push_back(fixed(plain.back(), 0));
  }
  table.rows.push_back(row);
  std::string gains, losses;  // of the answer's row
  for (const int passes : kPasses) {
    row = {significant(static_cast<double>(block) / passes, 2) + ", " + std::to_string(passes) +
           " passes a block"};
    for (std::size_t i = 0; i < std::size(kUsers); ++i) {
      const double rate = rate_of(name, kUsers[i], passes);
      const std::string times = fixed(rate / plain[i], 2);
      row.push_back(fixed(rate, 0) + " (" + times + ")");
      if (passes != kTold) continue;
      const std::string told =
          "B = " + std::to_string(kUsers[i]) + " (" + times + " times the tokens)";
      if (rate >= plain[i]) gains = told;
      if (rate < plain[i] && losses.empty()) losses = told;
    }
    table.rows.push_back(row);
  }
  DemoAnswer demo;
  demo.setup = base.model.name + " on " + base.gpu_name + " (" + base.profile + "), blocks of " +
               std::to_string(block) +
               " tokens, B users who wait for one answer before they ask again; " +
               "and the same layers as an autoregressive model.";
  demo.tables = {table};
  demo.answer = "With " + std::to_string(kTold) + " passes a block of " + std::to_string(block) +
                " tokens diffusion " + (gains.empty() ? "never wins" : "wins up to " + gains) +
                (losses.empty() ? "" : " and loses from " + losses) +
                ": it spends compute that one token a pass leaves idle, until a batch uses it.";
  return demo;
}

}  // namespace headway
