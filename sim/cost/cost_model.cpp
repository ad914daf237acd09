#include "sim/cost/cost_model.h"

namespace headway {

std::string_view op_class_name(OpClass op) {
  switch (op) {
    case OpClass::kLinear: return "linear";
    case OpClass::kPrefillAttention: return "prefill_attention";
    case OpClass::kDecodeAttention: return "decode_attention";
    case OpClass::kLmHead: return "lm_head";
    case OpClass::kElementwise: return "elementwise";
    case OpClass::kCommunication: return "communication";
    case OpClass::kOther: return "other";
  }
  return "other";
}

}  // namespace headway
