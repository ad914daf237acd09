// A diffusion language model computes a whole block in every pass and refines it for a number of
// passes; an autoregressive one computes a token a pass. The passes are priced as steps: a block's
// tokens are the queries of a chunk over the tokens before it.
#include "sim/core/number_text.h"
#include "sim/cost/make_cost_model.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

constexpr int kBlock = 32;
constexpr int kSteps[] = {32, 16, 8, 4};
constexpr int kTold = 8;  // the row that the answer tells of
constexpr int kBatches[] = {1, 8, 32, 128};

StepShape one_token(int batch, int context) {
  StepShape shape;
  shape.tokens = shape.decode_sequences = shape.decode_query_tokens = batch;
  shape.sampled_sequences = shape.scheduled_sequences = batch;
  shape.decode_kv_tokens = std::int64_t{batch} * context;
  shape.decode_kv_max = context;
  return shape;
}

StepShape one_pass(int batch, int context) {
  StepShape shape;
  shape.tokens = batch * kBlock;
  shape.sampled_sequences = batch * kBlock;  // every position is looked at
  shape.scheduled_sequences = batch;
  shape.prefill.assign(static_cast<std::size_t>(batch), {kBlock, context});
  return shape;
}

}  // namespace

DemoAnswer run_diffusion_demo(const std::string& name) {
  const Scenario s = lecture_scenario(name);
  const int context = static_cast<int>(s.workload.input_len.value);
  const auto cost = make_cost_model({s.model, s.gpu, nullptr, s.precision});
  DemoTable table{"Tokens/s of all sequences (times those of one token a pass)", {{"tokens a pass"}}};
  for (const int batch : kBatches) table.rows[0].push_back("B = " + std::to_string(batch));
  std::vector<double> plain;
  std::vector<std::string> row{"1, autoregressive"};
  for (const int batch : kBatches) {
    plain.push_back(batch / cost->price(one_token(batch, context)).gpu_us * 1e6);
    row.push_back(fixed(plain.back(), 0));
  }
  table.rows.push_back(row);
  std::string gains, losses;  // of the answer's row
  for (const int steps : kSteps) {
    const int a_pass = kBlock / steps;
    row = {std::to_string(a_pass) + ", " + std::to_string(steps) + " passes a block"};
    for (std::size_t i = 0; i < std::size(kBatches); ++i) {
      const double pass_us = cost->price(one_pass(kBatches[i], context)).gpu_us;
      const double rate = kBatches[i] * a_pass / pass_us * 1e6;
      const std::string times = fixed(rate / plain[i], 2);
      row.push_back(fixed(rate, 0) + " (" + times + ")");
      if (steps != kTold) continue;
      const std::string told = "B = " + std::to_string(kBatches[i]) + " (" + times + " times the tokens)";
      if (rate >= plain[i]) gains = told;
      if (rate < plain[i] && losses.empty()) losses = told;
    }
    table.rows.push_back(row);
  }
  DemoAnswer demo;
  demo.setup = s.model.name + "'s operators on " + s.gpu_name + ", each at its roofline, blocks of " +
               std::to_string(kBlock) + " tokens after " + std::to_string(context) + " others.";
  demo.tables = {table};
  demo.answer = "With " + std::to_string(kTold) + " passes a block of " + std::to_string(kBlock) +
                " tokens diffusion " + (gains.empty() ? "never wins" : "wins up to " + gains) +
                (losses.empty() ? "" : " and loses from " + losses) +
                ": it spends compute that one token a pass leaves idle, until a batch uses it.";
  return demo;
}

}  // namespace headway
