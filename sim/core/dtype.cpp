#include "sim/core/dtype.h"

#include <array>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

struct Row {
  DType dtype;
  const char* name;
  double bytes;
};
constexpr std::array<Row, 7> kRows{{{DType::kFp32, "fp32", 4},
                                    {DType::kBf16, "bf16", 2},
                                    {DType::kFp16, "fp16", 2},
                                    {DType::kFp8, "fp8", 1},
                                    {DType::kInt8, "int8", 1},
                                    {DType::kInt4, "int4", 0.5},
                                    {DType::kFp4, "fp4", 0.5}}};

const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

double bytes_per_element(DType dtype) { return row(dtype).bytes; }
const char* dtype_name(DType dtype) { return row(dtype).name; }

double stored_weight_bytes(const Precision& precision) {
  const DType dtype = precision.weights;
  const double element = bytes_per_element(dtype);
  const bool small = dtype == DType::kInt8 || dtype == DType::kInt4 || dtype == DType::kFp4;
  std::int32_t group = precision.group_size;
  if (group == 0 && small) group = dtype == DType::kFp4 ? 16 : 128;
  const bool scaled = small || dtype == DType::kFp8;
  const double scale = group > 0 && scaled ? (dtype == DType::kFp4 ? 1.0 : 2.0) / group : 0;
  if (!scaled || precision.kept_fraction == 0) return element + scale;
  return (1 - precision.kept_fraction) * (element + scale) + precision.kept_fraction * 2;
}

DType parse_dtype(const std::string& text, const std::string& file, const std::string& place) {
  std::vector<std::string> names;
  for (const Row& r : kRows) {
    if (text == r.name) return r.dtype;
    names.emplace_back(r.name);
  }
  throw InputError({file, place, "\"" + text + "\"", one_of(text, names)});
}

}  // namespace headway
