#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace headway {

inline constexpr double kUsPerSecond = 1e6, kNanosecondsPerMs = 1e6, kPicosecondsPerMs = 1e9;

// An instant or a span of simulated time: a whole number of nanoseconds, so that equal sums are
// equal and the same run gives the same bytes on every machine. Instants count from the start of
// the simulation.
class SimTime {
 public:
  constexpr SimTime() = default;

  static constexpr SimTime from_ns(std::int64_t ns) { return SimTime(ns); }
  // The nearest nanosecond. REQUIRES: the value fits 292 years.
  static SimTime from_us(double us) { return SimTime(nearest(us * 1e3)); }
  static SimTime from_ms(double ms) { return SimTime(nearest(ms * 1e6)); }
  static SimTime from_seconds(double s) { return SimTime(nearest(s * 1e9)); }
  // Later than any event: "never".
  static constexpr SimTime never() { return SimTime(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t ns() const { return ns_; }
  constexpr double us() const { return static_cast<double>(ns_) / 1e3; }
  constexpr double ms() const { return static_cast<double>(ns_) / 1e6; }
  constexpr double seconds() const { return static_cast<double>(ns_) / 1e9; }

  constexpr SimTime& operator+=(SimTime other) { ns_ += other.ns_; return *this; }
  constexpr SimTime& operator-=(SimTime other) { ns_ -= other.ns_; return *this; }
  friend constexpr SimTime operator+(SimTime a, SimTime b) { return SimTime(a.ns_ + b.ns_); }
  friend constexpr SimTime operator-(SimTime a, SimTime b) { return SimTime(a.ns_ - b.ns_); }
  friend constexpr SimTime operator*(SimTime a, std::int64_t n) { return SimTime(a.ns_ * n); }
  friend constexpr auto operator<=>(SimTime, SimTime) = default;

 private:
  explicit constexpr SimTime(std::int64_t ns) : ns_(ns) {}
  // std::llround, which is a call into the library: every step is timed with it.
  static constexpr std::int64_t nearest(double x) {
    const auto whole = static_cast<std::int64_t>(x);
    const double rest = x - static_cast<double>(whole);
    return whole + static_cast<std::int64_t>(rest >= 0.5) - static_cast<std::int64_t>(rest <= -0.5);
  }
  std::int64_t ns_ = 0;
};

}  // namespace headway
