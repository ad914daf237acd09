#include <nlohmann/json.hpp>

#include "sim/report/roofline_report.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

// Whole numbers of bytes and FLOPs stay whole.
Json whole_or_real(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

Json pass_json(const PassReport& pass) {
  Json json{{"batch", pass.batch},
            {"new_tokens", pass.tokens},
            {"flops", whole_or_real(pass.flops)},
            {"bytes", whole_or_real(pass.bytes)},
            {"time_ms", pass.time_s * 1e3}};
  json["layers"] = Json::array();
  for (const LayerSum& sum : pass.layers) {
    json["layers"].push_back({{"name", sum.layers},
                              {"count", sum.count},
                              {"flops", whole_or_real(sum.flops)},
                              {"bytes", whole_or_real(sum.bytes)},
                              {"time_us", sum.time_s * 1e6}});
  }
  json["operators"] = Json::array();
  for (const OperatorRow& op : pass.operators) {
    json["operators"].push_back({{"layers", op.layers},
                                 {"name", op.name},
                                 {"count", op.count},
                                 {"flops", whole_or_real(op.flops)},
                                 {"weight_bytes", whole_or_real(op.weight_bytes)},
                                 {"kv_bytes", whole_or_real(op.kv_bytes)},
                                 {"activation_bytes", whole_or_real(op.activation_bytes)},
                                 {"bytes", whole_or_real(op.bytes())},
                                 {"link_bytes", whole_or_real(op.link_bytes)},
                                 {"intensity", op.intensity()},
                                 {"peak_flops", whole_or_real(op.peak_flops)},
                                 {"bound", bound_name(op.bound)},
                                 {"time_us", op.time_s * 1e6},
                                 {"formula", op.formula}});
  }
  return json;
}

Json sweep_json(const SweepRow& row) {
  return {{"batch", whole_or_real(row.bound.batch)},
          {"weight_bytes", whole_or_real(row.bound.weight_bytes)},
          {"kv_bytes", whole_or_real(row.bound.kv_bytes)},
          {"memory_bytes", whole_or_real(row.bound.memory_bytes())},
          {"fits", fit_name(row.fit)},
          {"read_bytes", whole_or_real(row.bound.read_bytes)},
          {"latency_ms", row.bound.latency_s * 1e3},
          {"tokens_per_s", row.bound.tokens_per_s},
          {"operators_ms", row.operators_s * 1e3},
          {"operators_tokens_per_s", row.operators_tokens_per_s()}};
}

}  // namespace

nlohmann::ordered_json roofline_json(const RooflineReport& r) {
  const RooflineQuestion& q = r.question;
  Json json{{"schema_version", 1},
            {"model", q.model.name},
            {"gpu", q.gpu.name},
            {"precision",
             {{"weights", dtype_name(q.precision.weights)},
              {"activations", dtype_name(q.precision.activations)},
              {"kv", dtype_name(q.precision.kv)}}},
            {"tensor_parallel_size", q.tensor_parallel_size},
            {"context_tokens", q.context_tokens},
            {"prompt_tokens", q.prompt_tokens},
            {"parameters", r.parameters},
            {"matrix_parameters", r.matrix_parameters},
            {"active_parameters", r.active_parameters},
            {"kv_bytes_per_sequence", whole_or_real(r.kv_bytes_per_sequence)}};
  const double peak = q.gpu.flops(q.precision.weights, q.precision.activations);
  json["peak_flops"] = whole_or_real(peak);
  json["memory_bandwidth"] = whole_or_real(q.gpu.memory_bandwidth);
  json["memory_bytes"] = q.gpu.memory_bytes;
  json["ridge"] = peak / q.gpu.memory_bandwidth;
  json["prefill"] = pass_json(r.prefill);
  json["generation"] = Json::array();
  for (const PassReport& pass : r.generation) json["generation"].push_back(pass_json(pass));
  json["sweep"] = Json::array();
  for (const SweepRow& row : r.sweep) json["sweep"].push_back(sweep_json(row));
  json["largest_batch"] = r.largest_batch;
  return json;
}

}  // namespace headway
