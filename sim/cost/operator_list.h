#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cost/operator_work.h"

namespace headway {

// One row of a step's operators, for people and tools. `work` is of ONE call; the step makes
// `count` of them.
struct ListedOperator {
  std::string layer;  // RankLayer::name; "" = once a step
  std::string name;   // "qkv", "attention", "experts", ...
  std::int32_t count = 1;
  Operator work;      // its texts belong to the RankOperators
};

// Every operator that one GPU runs for the step, kind by kind in the order of the model, then what
// runs once: embedding and final norm, LM head, messages to the other GPUs. The roofline prices a
// step at the sum of count x operator_us() over these rows; a profile may price them otherwise.
std::vector<ListedOperator> operator_list(const RankOperators& ops, const StepShape& shape);

// A formula of an operator, in symbols and with the numbers put in.
struct Formula {
  const char* what;     // "flops", "weight_bytes", "kv_bytes", "activation_bytes"
  std::string symbols;  // "2*T*n*k"
  std::string numbers;  // "2*256*6144*4096"
  double value;         // what both come to
};
// Those that are not zero.
std::vector<Formula> formulas(const Operator& op);

}  // namespace headway
