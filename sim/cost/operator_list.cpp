#include "sim/cost/operator_list.h"

#include <cctype>
#include <cstdio>

namespace headway {
namespace {

class Lister {
 public:
  explicit Lister(const RankOperators& ops) : ops_(ops) {}

  void add(const RankLayer* layer, const Operator& op) {
    const std::int32_t count = layer == nullptr ? 1 : layer->count;
    add(layer == nullptr ? "" : layer->name, count, op);
  }
  void add(const std::string& layer, std::int32_t count, const Operator& op) {
    rows_.push_back({layer, op.name, count, op});
  }

  void message(const char* name, std::int32_t count, double bytes) {
    if (count == 0) return;
    Operator op;
    op.name = name;
    op.op = OpClass::kCommunication;
    op.link_bytes = bytes;
    add("", count, op);
  }

  void layer(const RankLayer& layer, const StepShape& shape) {
    const double tokens = shape.tokens;
    for (const GemmSite& site : layer.gemms) {
      add(&layer, gemm_operator(site, tokens, ops_.precision));
    }
    if (layer.is_moe()) add(&layer, experts_operator(ops_, layer, tokens));
    for (const Operator& op : elementwise_operators(ops_, layer, tokens)) add(&layer, op);
    for (const Operator& op : prefill_operators(ops_, layer, shape.prefill)) add(&layer, op);
    for (const Operator& op : decode_operators(ops_, layer, shape.decode_sequences,
                                               static_cast<double>(shape.decode_kv_tokens))) {
      add(&layer, op);
    }
  }

  std::vector<ListedOperator> take() { return std::move(rows_); }

 private:
  const RankOperators& ops_;
  std::vector<ListedOperator> rows_;
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

// Each symbol by its value.
std::string with_numbers(const std::string& formula, const Operator& op) {
  std::string text;
  for (std::size_t i = 0; i < formula.size();) {
    std::size_t end = i;
    while (end < formula.size() && std::isalpha(static_cast<unsigned char>(formula[end]))) ++end;
    if (end == i) {
      text += formula[i++];
      continue;
    }
    const std::string symbol = formula.substr(i, end - i);
    for (const Variable& variable : op.variables) {
      if (variable.symbol != nullptr && symbol == variable.symbol) text += number(variable.value);
    }
    i = end;
  }
  return text;
}

}  // namespace

std::vector<ListedOperator> operator_list(const RankOperators& ops, const StepShape& shape) {
  Lister list(ops);
  if (shape.tokens > 0) {
    for (const RankLayer& layer : ops.kinds) list.layer(layer, shape);
    list.add(nullptr, ends_operator(ops, shape.tokens));
  }
  if (shape.sampled_sequences > 0) {
    Operator head = gemm_operator(ops.lm_head, shape.sampled_sequences, ops.precision);
    head.op = OpClass::kLmHead;
    list.add(nullptr, head);
  }
  const double bytes = hidden_message_bytes(ops, shape.tokens), p = ops.tensor_parallel;
  if (p > 1) list.message("all-reduce", ops.all_reduces(), 2 * (p - 1) / p * bytes);
  list.message("send", ops.pipeline_parallel - 1, bytes);
  return list.take();
}

std::vector<Formula> formulas(const Operator& op) {
  std::vector<Formula> out;
  const auto add = [&](const char* what, const char* formula, double value) {
    if (value == 0 || *formula == '\0') return;
    out.push_back({what, formula, with_numbers(formula, op), value});
  };
  add("flops", op.flops_formula, op.flops);
  add("weight_bytes", op.weight_formula, op.weight_bytes);
  add("kv_bytes", op.kv_formula, op.kv_bytes);
  add("activation_bytes", op.activation_formula, op.activation_bytes);
  return out;
}

}  // namespace headway
