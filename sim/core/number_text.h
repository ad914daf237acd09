#pragma once

#include <cstdint>
#include <string>

namespace headway {

// "13 015 449 600".
std::string grouped(std::int64_t number);
// With so many digits after the point: "8.02", "3562".
std::string fixed(double value, int digits);
// A share as "12.3 %".
std::string percent_text(double share);
// With so many significant digits and no exponent below a million: "295", "0.999", "8.0208".
std::string significant(double value, int digits);
// In the largest decimal unit that leaves one or more before the point: "838.9 MB", "1.7 TB".
std::string bytes_text(double bytes);
std::string time_text(double seconds);  // "12.3 us", "8.02 ms", "1.50 s"

}  // namespace headway
