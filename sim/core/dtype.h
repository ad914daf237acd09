#pragma once

#include <cstdint>
#include <string>

namespace headway {

// Storage types, by the bytes they take. int4 and fp4 count half a byte.
enum class DType : std::uint8_t { kFp32, kBf16, kFp16, kFp8, kInt8, kInt4, kFp4 };
double bytes_per_element(DType dtype);
const char* dtype_name(DType dtype);
DType parse_dtype(const std::string& text, const std::string& file, const std::string& place);

struct Precision {
  DType weights = DType::kBf16;
  DType activations = DType::kBf16;
  DType kv = DType::kBf16;
  // Weights that share one scale. 0 = as the format usually has it: 128 for int8 and int4 (GPTQ,
  // AWQ), 16 for fp4 (NVFP4); fp8 has one scale a matrix.
  std::int32_t group_size = 0;
  // Share of each weight matrix that stays at 16 bits: the outlier columns of LLM.int8(), the
  // salient weights of AWQ.
  double kept_fraction = 0;
};

// Bytes an element of a quantised weight matrix, its share of the scales and of what is kept at 16
// bits included. A scale takes two bytes, one beside fp4.
double stored_weight_bytes(const Precision& precision);

}  // namespace headway
