// bf16, f16 and fp8 against their definitions, not against the code that converts.

#include "kernels/rt/number_types.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

namespace headway::kernels {
namespace {

// The value of a format with that many exponent and mantissa bits, by the definition of IEEE 754.
double value_of(unsigned bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double mantissa = bits & ((1u << mantissa_bits) - 1);
  const double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(1 + std::ldexp(mantissa, -mantissa_bits), exponent - bias);
}

// Every finite value, and the midpoint to its upper neighbour, which must go to the even one.
template <class T>
void check_format(int exponent_bits, int mantissa_bits, unsigned largest) {
  int wrong_values = 0;
  int wrong_trips = 0;
  int wrong_ties = 0;
  for (unsigned bits = 0; bits <= largest; ++bits) {
    T stored;
    stored.bits = static_cast<decltype(stored.bits)>(bits);
    const double value = value_of(bits, exponent_bits, mantissa_bits);
    wrong_values += to_f(stored) != value;
    wrong_trips += from_f<T>(static_cast<float>(value)).bits != bits;
    wrong_trips += to_f(from_f<T>(static_cast<float>(-value))) != -value;
    if (bits == largest) continue;
    const double next = value_of(bits + 1, exponent_bits, mantissa_bits);
    const float middle = static_cast<float>((value + next) / 2);
    wrong_ties += from_f<T>(middle).bits != (bits % 2 == 0 ? bits : bits + 1);
    const float above = std::nextafter(middle, std::numeric_limits<float>::infinity());
    wrong_ties += from_f<T>(above).bits != bits + 1;
    wrong_ties += from_f<T>(std::nextafter(middle, 0.0f)).bits != bits;
  }
  CHECK(wrong_values == 0);
  CHECK(wrong_trips == 0);
  CHECK(wrong_ties == 0);
}

TEST_CASE("f16, bf16 and fp8 hold what their definitions say and round to nearest even",
          "[unit]") {
  check_format<f16>(5, 10, 0x7bff);
  check_format<fp8>(4, 3, 0x7e);
  check_format<bf16>(8, 7, 0x7f7f);
}

TEST_CASE("overflow and NaN: f16 and bf16 go to infinity, fp8 saturates", "[unit]") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(to_f(from_f<f16>(65519.0f)) == 65504.0f);
  CHECK(to_f(from_f<f16>(65520.0f)) == infinity);
  CHECK(to_f(from_f<f16>(-infinity)) == -infinity);
  CHECK(to_f(from_f<bf16>(3.4e38f)) == infinity);
  CHECK(to_f(from_f<fp8>(1e6f)) == 448.0f);
  CHECK(to_f(from_f<fp8>(-infinity)) == -448.0f);
  CHECK(std::isnan(to_f(from_f<f16>(nan))));
  CHECK(std::isnan(to_f(from_f<bf16>(nan))));
  CHECK(std::isnan(to_f(from_f<fp8>(nan))));
  // What fresh memory holds (bytes 0xff).
  CHECK(std::isnan(to_f(f16{0xffff})));
  CHECK(std::isnan(to_f(bf16{0xffff})));
  CHECK(std::isnan(to_f(fp8{0xff})));
}

TEST_CASE("a pair has its first number in the low half", "[unit]") {
  const std::uint32_t pair = pack2<f16>(1.0f, -2.0f);
  CHECK(pair == 0xc0003c00u);
  CHECK(low_f<f16>(pair) == 1.0f);
  CHECK(high_f<f16>(pair) == -2.0f);
}

}  // namespace
}  // namespace headway::kernels
