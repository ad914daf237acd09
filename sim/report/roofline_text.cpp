#include "sim/core/number_text.h"
#include "sim/core/text_table.h"
#include "sim/report/roofline_report.h"

namespace headway {
namespace {

std::string whole(double value) { return grouped(static_cast<std::int64_t>(value)); }

std::string opening(const RooflineReport& r) {
  const RooflineQuestion& q = r.question;
  const bool split = q.tensor_parallel_size > 1;
  std::string text =
      q.model.name + " on " + (split ? std::to_string(q.tensor_parallel_size) + " x " : "") +
      q.gpu.name + ", weights " + dtype_name(q.precision.weights) + ", activations " +
      dtype_name(q.precision.activations) + ", KV " + dtype_name(q.precision.kv) + "\n";
  text += "parameters   " + grouped(r.parameters) + " (matrices " + grouped(r.matrix_parameters) +
          ", of a token " + grouped(r.active_parameters) + ")\n";
  text += "KV           " + whole(r.kv_bytes_per_sequence) + " bytes a sequence of " +
          std::to_string(q.context_tokens) + " tokens" + (split ? ", on each GPU" : "") + "\n";
  const double peak = q.gpu.flops(q.precision.weights, q.precision.activations);
  text += "ridge        " + fixed(peak / q.gpu.memory_bandwidth, 0) +
          " FLOPs a byte: " + significant(peak / 1e12, 4) + " TFLOP/s over " +
          significant(q.gpu.memory_bandwidth / 1e12, 4) + " TB/s\n";
  return text;
}

std::string pass_table(const PassReport& pass, const std::string& where) {
  TextTable rows{{"layers", "operator", "calls", "GFLOP", "MB weights", "MB KV", "MB activations",
                  "FLOPs a byte", "bound by", "us"}};
  for (const OperatorRow& op : pass.operators) {
    rows.push_back({op.layers.empty() ? "-" : op.layers, op.name, std::to_string(op.count),
                    significant(op.flops / 1e9, 4), significant(op.weight_bytes / 1e6, 4),
                    significant(op.kv_bytes / 1e6, 4), significant(op.activation_bytes / 1e6, 4),
                    significant(op.intensity(), 4), bound_name(op.bound),
                    fixed(op.time_s * 1e6, 1)});
  }
  std::string text = "\n" + pass.name() + where + "\n" + aligned(rows);
  for (const LayerSum& sum : pass.layers) {
    text +=
        (sum.layers.empty() ? std::string("once a pass")
                            : std::to_string(sum.count) +
                                  (sum.count == 1 ? " layer of " : " layers of ") + sum.layers) +
        ": " + time_text(sum.time_s) + ", " + significant(sum.flops / 1e9, 4) + " GFLOP, " +
        bytes_text(sum.bytes) + "\n";
  }
  return text + "in all: " + time_text(pass.time_s) + ", " + significant(pass.flops / 1e9, 4) +
         " GFLOP, " + bytes_text(pass.bytes) + ", " + significant(pass.flops / pass.bytes, 4) +
         " FLOPs a byte\n";
}

std::string sweep_table(const RooflineReport& r) {
  const RooflineQuestion& q = r.question;
  TextTable rows{{"B", "weights, bytes", "KV, bytes", "memory, bytes", "fits", "ms a token",
                  "tokens/s", "operators: ms", "tokens/s"}};
  for (const SweepRow& row : r.sweep) {
    rows.push_back({whole(row.bound.batch), whole(row.bound.weight_bytes),
                    whole(row.bound.kv_bytes), whole(row.bound.memory_bytes()), fit_name(row.fit),
                    fixed(row.bound.latency_s * 1e3, 4), fixed(row.bound.tokens_per_s, 2),
                    fixed(row.operators_s * 1e3, 4), fixed(row.operators_tokens_per_s(), 2)});
  }
  const bool split = q.tensor_parallel_size > 1;
  std::string text = "\nGeneration by batch, " + std::to_string(q.context_tokens) +
                     " tokens a sequence" + (split ? "; memory of each GPU" : "") +
                     ": what is read over the bandwidth, and all operators at their rooflines\n" +
                     aligned(rows);
  const std::string memory = whole(static_cast<double>(q.gpu.memory_bytes)) + " bytes";
  if (r.largest_batch == 0) return text + "The weights alone do not fit into " + memory + ".\n";
  return text + "The largest batch that fits into " + memory + " is " + grouped(r.largest_batch) +
         ".\n";
}

std::string formulas_of(const RooflineReport& r) {
  std::string text = "\nFormulas, one call each: FLOPs; bytes\n";
  for (const PassReport* pass :
       {&r.prefill, r.generation.empty() ? nullptr : &r.generation.front()}) {
    if (pass == nullptr) continue;
    text += pass->name() + "\n";
    for (const OperatorRow& op : pass->operators) {
      text +=
          "  " + (op.layers.empty() ? "" : op.layers + ", ") + op.name + ": " + op.formula + "\n";
    }
  }
  text += "memory, latency and throughput\n";
  const std::string kv = whole(r.kv_bytes_per_sequence);
  for (const SweepRow& row : r.sweep) {
    const BatchPoint& p = row.bound;
    text += "  B = " + whole(p.batch) + ": weights + B x KV = " + whole(p.weight_bytes) + " + " +
            whole(p.batch) + " x " + kv + " = " + whole(p.memory_bytes()) +
            " bytes; read / bandwidth = " + whole(p.read_bytes) + " / " +
            whole(r.question.gpu.memory_bandwidth) + " = " + fixed(p.latency_s * 1e3, 4) +
            " ms; B / latency = " + fixed(p.tokens_per_s, 2) + " tokens/s\n";
  }
  return text;
}

}  // namespace

std::string roofline_text(const RooflineReport& report, bool formulas) {
  const std::string where = report.question.tensor_parallel_size > 1 ? ", on each GPU" : "";
  std::string text = opening(report) + pass_table(report.prefill, where);
  if (!report.generation.empty()) text += pass_table(report.generation.front(), where);
  text += sweep_table(report);
  return formulas ? text + formulas_of(report) : text;
}

}  // namespace headway
