#include "sim/cost/operator_list.h"

#include <cctype>
#include <cstdlib>

#include "sim/cost/roofline_cost.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/kinds_fixtures.h"

using namespace headway;

namespace {

// Evaluates +, -, *, / and brackets.
class Calculator {
 public:
  explicit Calculator(const std::string& text) : at_(text.c_str()) {}
  double sum() {
    double value = product();
    for (skip(); *at_ == '+' || *at_ == '-'; skip()) {
      const char sign = *at_++;
      const double next = product();
      value += sign == '+' ? next : -next;
    }
    return value;
  }

 private:
  void skip() {
    while (*at_ == ' ') ++at_;
  }
  double product() {
    double value = factor();
    for (skip(); *at_ == '*' || *at_ == '/'; skip()) {
      const char sign = *at_++;
      const double next = factor();
      value = sign == '*' ? value * next : value / next;
    }
    return value;
  }
  double factor() {
    skip();
    if (*at_ == '(') {
      ++at_;
      const double value = sum();
      skip();
      REQUIRE(*at_ == ')');
      ++at_;
      return value;
    }
    char* end = nullptr;
    const double value = std::strtod(at_, &end);
    REQUIRE(end != at_);
    at_ = end;
    return value;
  }
  const char* at_;
};

StepShape mixed_step() {
  StepShape shape = decode(5, 3000);
  shape.prefill = {{700, 0}, {100, 5000}};
  shape.tokens = 805;
  shape.sampled_sequences = 6;
  return shape;
}

}  // namespace

TEST_CASE("every formula comes to the number beside it", "[unit][cost]") {
  for (const DType weights : {DType::kBf16, DType::kInt4}) {
    Precision precision;
    precision.weights = weights;
    precision.kv = DType::kFp8;
    const RankOperators ops = rank_operators(every_kind(), precision, 1, 1);
    std::size_t seen = 0;
    for (const ListedOperator& row : operator_list(ops, mixed_step())) {
      double bytes = 0;
      bool flops = row.work.flops == 0;
      for (const Formula& formula : formulas(row.work)) {
        INFO(row.layer << " " << row.name << " " << formula.what << " = " << formula.symbols);
        INFO(formula.numbers);
        CHECK(Calculator(formula.numbers).sum() == Approx(formula.value).epsilon(1e-9));
        if (std::string(formula.what) == "flops") {
          flops = true;
        } else {
          bytes += formula.value;
        }
        ++seen;
      }
      INFO(row.layer << " " << row.name);
      CHECK(flops);
      CHECK(bytes == Approx(row.work.bytes()));  // no byte without a formula
    }
    CHECK(seen > 200);
  }
}

TEST_CASE("the roofline prices a step at the sum of its operators", "[unit][cost]") {
  const GpuSpec gpu = h100_sheet();
  ModelSpec model = every_kind();
  model.layers.push_back(model.layers.front());
  for (const std::int32_t tp : {1, 2}) {
    const RankOperators ops = rank_operators(model, {}, tp, 2);
    const auto pricer = make_roofline_pricer(ops, gpu);
    const StepShape shape = mixed_step();
    StepCost cost = pricer->linear(shape.tokens);
    add_cost(cost, pricer->lm_head(shape.sampled_sequences));
    pricer->add_prefill(shape, pricer->decode_attention(5, 15000), cost);
    double by_class[kOpClasses] = {};
    for (const ListedOperator& row : operator_list(ops, shape)) {
      by_class[static_cast<std::size_t>(row.work.op)] += row.count * operator_us(row.work, gpu);
    }
    for (std::size_t i = 0; i < kOpClasses; ++i) CHECK(by_class[i] == Approx(cost.by_class_us[i]));
  }
}

TEST_CASE("a list of a plain model by hand", "[unit][cost]") {
  const ModelSpec model = dense_model("plain", 3, {64, 128, 4, 2, 16, 64});
  const RankOperators ops = rank_operators(model, {}, 1, 1);
  std::string names;
  for (const ListedOperator& row : operator_list(ops, decode(2, 10))) {
    names += row.name + " x" + std::to_string(row.count) + ", ";
  }
  CHECK(names == "qkv x3, o x3, gate_up x3, down x3, norms x3, rope x3, kv_write x3, "
                 "activation x3, attention x3, embedding + final norm x1, lm_head x1, ");
}
