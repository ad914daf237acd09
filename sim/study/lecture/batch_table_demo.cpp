// Latency and throughput by batch, with all heads' keys and values and with fewer.
#include <algorithm>

#include "sim/core/number_text.h"
#include "sim/cost/textbook.h"
#include "sim/model/hf_config.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

std::string ms(const BatchPoint& point) { return fixed(point.latency_s * 1e3, 4); }
std::string rate(const BatchPoint& point) { return fixed(point.tokens_per_s, 2); }
std::string whole(double value) { return grouped(static_cast<std::int64_t>(value)); }

// The first token waits for the whole prompt: two FLOPs a parameter and token, and attention.
DemoTable prefill_table(const Scenario& s, double S) {
  DemoTable table{
      "Prefill of B prompts of " + fixed(S, 0) + " tokens, after which come the first tokens",
      {{"B", "TFLOP", "ms to the first token", "prompts/s"}}};
  const MixerSpec& attention = first_attention(s.model);
  const double width = static_cast<double>(attention.heads) * attention.head_dim;
  for (const double B : {1.0, 4.0, 16.0}) {
    const double weights = textbook_weight_bytes(s.model, s.precision);
    const double flops = 2 * static_cast<double>(matrix_parameter_count(s.model)) * B * S +
                         textbook_attention(B, S, S, width).flops * s.model.num_hidden_layers();
    const double seconds = std::max(flops / s.gpu.flops_bf16, weights / s.gpu.memory_bandwidth);
    table.rows.push_back({whole(B), significant(flops / 1e12, 4), significant(seconds * 1e3, 4),
                          significant(B / seconds, 4)});
  }
  return table;
}

}  // namespace

DemoAnswer run_batch_table_demo(const std::string& name) {
  const Scenario s = lecture_scenario(name);
  const double S = s.workload.input_len.value;
  const auto at = [&](double batch) {
    return textbook_batch(s.model, s.gpu, s.precision, batch, S);
  };
  const std::int64_t most = largest_batch(s.model, s.gpu, s.precision, S);
  DemoTable table{
      "", {{"B", "memory, bytes", "ms a token", "tokens/s", "times the row above", "fits"}}};
  double before = 0;
  std::vector<double> batches = {1, 16, static_cast<double>(most), 256};
  std::sort(batches.begin(), batches.end());
  for (const double batch : batches) {
    const BatchPoint point = at(batch);
    table.rows.push_back({whole(batch), whole(point.memory_bytes()), ms(point), rate(point),
                          before > 0 ? fixed(point.tokens_per_s / before, 2) : "-",
                          fit_name(fits(point.memory_bytes(), s.gpu))});
    before = point.tokens_per_s;
  }
  DemoAnswer demo;
  demo.setup = s.model.name + " in " + dtype_name(s.precision.weights) + " on " + s.gpu_name +
               " (" + whole(s.gpu.memory_bandwidth) + " bytes a second, " +
               whole(static_cast<double>(s.gpu.memory_bytes)) + " bytes), " + fixed(S, 0) +
               " tokens a sequence: " + whole(at(1).weight_bytes / 2) + " parameters, KV " +
               whole(at(1).kv_bytes) + " bytes a sequence; latency = memory / bandwidth.";
  demo.tables = {table, prefill_table(s, S)};
  const TextTable& prefill = demo.tables[1].rows;
  const BatchPoint one = at(1), last = at(static_cast<double>(most));
  demo.answer = "From B = 1 to the largest batch that fits, " + whole(last.batch) +
                ", a token takes " + ms(last) + " ms where it took " + ms(one) +
                ", and throughput goes from " + rate(one) + " to " + rate(last) +
                " tokens/s; the first token comes after " + prefill[1][2] +
                " ms with one prompt and after " + prefill.back()[2] + " ms with " +
                prefill.back()[0] + ": small batches for prefill, large ones for generation.";
  return demo;
}

DemoAnswer run_gqa_demo(const std::string& name) {
  const Scenario s = lecture_scenario(name);
  const double S = s.workload.input_len.value;
  const int heads = first_attention(s.model).heads;
  const BatchPoint base =
      textbook_batch(s.model, s.gpu, s.precision,
                     static_cast<double>(largest_batch(s.model, s.gpu, s.precision, S)), S);
  DemoTable table{"",
                  {{"K", "KV a sequence", "of K = " + std::to_string(heads), "B", "memory, bytes",
                    "ms a token", "tokens/s", "fits"}}};
  std::string best;
  for (const int kv_heads : {heads, 8, 1}) {
    const ModelSpec model =
        with_overrides(s.model, "num_key_value_heads", std::to_string(kv_heads));
    const double shrink = kv_bytes(s.model, s.precision.kv, S) / kv_bytes(model, s.precision.kv, S);
    const std::string share = "1/" + fixed(shrink, 0);
    const std::int64_t most = largest_batch(model, s.gpu, s.precision, S);
    for (const double batch : {base.batch, 256.0, static_cast<double>(most)}) {
      if (kv_heads == heads && batch == static_cast<double>(most) && batch == base.batch &&
          !table.rows.empty() && table.rows.size() > 1) {
        continue;  // it is the first row
      }
      const BatchPoint point = textbook_batch(model, s.gpu, s.precision, batch, S);
      table.rows.push_back({std::to_string(kv_heads), bytes_text(point.kv_bytes / batch), share,
                            whole(batch), whole(point.memory_bytes()), ms(point), rate(point),
                            fit_name(fits(point.memory_bytes(), s.gpu))});
      if (kv_heads == 8 && batch == static_cast<double>(most)) {
        best = "With K = 8 the cache is " + share + " and the largest batch that fits grows from " +
               whole(base.batch) + " to " + whole(batch) + ": throughput goes from " + rate(base) +
               " to " + rate(point) + " tokens/s at " + ms(point) + " instead of " + ms(base) +
               " ms a token.";
      }
    }
  }
  DemoAnswer demo;
  demo.setup = s.model.name + " on " + s.gpu_name + ", " + fixed(S, 0) +
               " tokens a sequence, with K key/value heads for its " + std::to_string(heads) +
               " query heads.";
  demo.tables = {table};
  demo.answer = best;
  return demo;
}

}  // namespace headway
