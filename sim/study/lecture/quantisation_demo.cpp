// Fewer bytes a weight and a cached number: memory, latency, throughput, the batch that fits.
#include "sim/core/number_text.h"
#include "sim/cost/textbook.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {
namespace {

struct Format {
  const char* name;
  DType weights, kv;
  double kept;  // share of the weights at 16 bits
};
constexpr Format kFormats[] = {
    {"bf16", DType::kBf16, DType::kBf16, 0},
    {"fp8", DType::kFp8, DType::kBf16, 0},
    {"int8", DType::kInt8, DType::kBf16, 0},
    {"int8, as LLM.int8()", DType::kInt8, DType::kBf16, 0.001},
    {"int4", DType::kInt4, DType::kBf16, 0},
    {"int4, as AWQ", DType::kInt4, DType::kBf16, 0.01},
    {"bf16", DType::kBf16, DType::kFp8, 0},
    {"int4", DType::kInt4, DType::kFp8, 0},
};

}  // namespace

DemoAnswer run_quantisation_demo(const std::string& name) {
  const Scenario s = lecture_scenario(name);
  const double S = s.workload.input_len.value;
  DemoTable table{
      "",
      {{"weights", "kept at 16 bits", "KV", "weights, GB", "times smaller", "ms a token, B = 1",
        "times faster", "largest B", "tokens/s there", "times as many"}}};
  double first_bytes = 0, first_ms = 0, first_rate = 0;
  std::string answer;
  for (const Format& format : kFormats) {
    Precision precision = s.precision;
    precision.weights = format.weights;
    precision.kv = format.kv;
    precision.kept_fraction = format.kept;
    const BatchPoint one = textbook_batch(s.model, s.gpu, precision, 1, S);
    const std::int64_t most = largest_batch(s.model, s.gpu, precision, S);
    const BatchPoint full = textbook_batch(s.model, s.gpu, precision, static_cast<double>(most), S);
    if (first_bytes == 0) {
      first_bytes = one.weight_bytes;
      first_ms = one.latency_s;
      first_rate = full.tokens_per_s;
    }
    const std::string smaller = fixed(first_bytes / one.weight_bytes, 2);
    const std::string faster = fixed(first_ms / one.latency_s, 2);
    const std::string more = fixed(full.tokens_per_s / first_rate, 2);
    table.rows.push_back({format.name, format.kept > 0 ? fixed(100 * format.kept, 1) + " %" : "-",
                          dtype_name(format.kv), fixed(one.weight_bytes / 1e9, 2), smaller,
                          fixed(one.latency_s * 1e3, 3), faster, grouped(most),
                          fixed(full.tokens_per_s, 0), more});
    if (format.weights == DType::kInt4 && format.kept == 0 && format.kv == DType::kBf16) {
      answer = "Weights in int4 take " + smaller +
               " times less memory, as embedding and LM head stay wide, and make one sequence " +
               faster + " times as fast, as its KV is read as before; the room they leave makes " +
               more + " times as many tokens a second";
    }
    if (format.weights == DType::kInt4 && format.kv == DType::kFp8) {
      answer += ", with the KV in fp8 " + more + " times.";
    }
  }
  DemoAnswer demo;
  demo.setup = s.model.name + " on " + s.gpu_name + ", " + fixed(S, 0) +
               " tokens a sequence; embedding and LM head stay at 16 bits, and integers have a "
               "scale for every 128 weights. (What formats cost in quality is not computed here.)";
  demo.tables = {table};
  demo.answer = answer;
  return demo;
}

}  // namespace headway
