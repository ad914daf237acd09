#include "sim/core/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace headway {

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = text.starts_with("-") ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3; at -= 3) text.insert(at - 3, 1, ' ');
  return text;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string percent_text(double share) { return fixed(100 * share, 1) + " %"; }

std::string significant(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return fixed(value, 0);
  const int before = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return fixed(value, std::max(0, digits - before));
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; unit + 1 < std::size(units) && bytes >= 999.95; ++unit) bytes /= 1e3;
  return fixed(bytes, unit == 0 ? 0 : 1) + " " + units[unit];
}

std::string time_text(double seconds) {
  if (seconds < 0.9995e-3) return significant(seconds * 1e6, 3) + " us";
  if (seconds < 0.9995) return significant(seconds * 1e3, 3) + " ms";
  return significant(seconds, 3) + " s";
}

}  // namespace headway
