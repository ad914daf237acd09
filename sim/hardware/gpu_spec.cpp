#include "sim/hardware/gpu_spec.h"

namespace headway {
namespace {

enum class Rate { kFp32, k16Bit, kFp8, kInt8, kFp4 };

bool is_16_bit(DType t) { return t == DType::kBf16 || t == DType::kFp16; }
bool is_integer(DType t) { return t == DType::kInt8 || t == DType::kInt4; }

Rate rate_of(DType weights, DType activations) {
  if (weights == DType::kFp32 || activations == DType::kFp32) return Rate::kFp32;
  if (is_16_bit(weights) || is_16_bit(activations)) return Rate::k16Bit;
  if (is_integer(weights) && is_integer(activations)) return Rate::kInt8;
  if (is_integer(weights) || is_integer(activations)) return Rate::k16Bit;
  if (weights == DType::kFp8 || activations == DType::kFp8) return Rate::kFp8;
  return Rate::kFp4;
}

}  // namespace

double GpuSpec::flops(DType weights, DType activations) const {
  const Rate rate = rate_of(weights, activations);
  if (rate == Rate::kFp32) return flops_fp32;
  if (rate == Rate::kInt8 && ops_int8 > 0) return ops_int8;
  if (rate == Rate::kFp4 && flops_fp4 > 0) return flops_fp4;
  if ((rate == Rate::kFp4 || rate == Rate::kFp8) && flops_fp8 > 0) return flops_fp8;
  return flops_bf16;
}

DType GpuSpec::computes_in(DType weights, DType activations) const {
  const Rate rate = rate_of(weights, activations);
  if (rate == Rate::kFp32) return DType::kFp32;
  if (rate == Rate::kInt8 && ops_int8 > 0) return DType::kInt8;
  if (rate == Rate::kFp4 && flops_fp4 > 0) return DType::kFp4;
  if ((rate == Rate::kFp4 || rate == Rate::kFp8) && flops_fp8 > 0) return DType::kFp8;
  return DType::kBf16;
}

}  // namespace headway
