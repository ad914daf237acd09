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
};

}  // namespace headway
