#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/metrics/run_summary.h"

namespace headway {

// A metric that variants are compared by: one column of the table.
struct CompareColumn {
  enum class Better : std::uint8_t { kNone, kLow, kHigh };
  std::string_view tag;         // in JSON: the summary's key where it has one
  std::string_view head, unit;  // two lines in text
  Better better;
  std::optional<double> (*of)(const RunSummary&);  // unset: the run has no such value
  bool hide_zero = false;  // leave the column out when it is 0 in every row
  bool wide = false;       // not in text, which has to fit a terminal
};
std::span<const CompareColumn> compare_columns();

}  // namespace headway
