#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/workload/workload_options.h"

namespace headway {

// Draws token counts. Draws are rounded to whole tokens and clamped to [min, max].
class LengthSampler {
 public:
  virtual ~LengthSampler() = default;
  virtual std::int32_t draw() = 0;
};

enum class LengthColumn : std::uint8_t { kInput, kOutput };

// Where a length is drawn for.
struct LengthContext {
  std::string place;                           // "workload.input_len", for messages
  std::string base_folder;                     // where the file of an empirical length is looked up
  std::string stream;                          // name of its random stream
  LengthColumn column = LengthColumn::kInput;  // which column of such a file
  std::uint64_t seed = 0;
};

// InputError: an option without meaning (a negative mean, no file ...). A lognormal's mean and
// stddev are those of the lengths themselves, not of their logarithm. Empirical lengths are rows of
// a file drawn with equal chance, with replacement; input and output lengths that name the same
// file are drawn together, row by row.
std::unique_ptr<LengthSampler> make_length_sampler(const LengthOptions& options,
                                                   const LengthContext& context);

// Whether the option was left at its default.
inline bool is_unset(const LengthOptions& options) {
  return options.distribution == "fixed" && options.value == 0;
}

}  // namespace headway
