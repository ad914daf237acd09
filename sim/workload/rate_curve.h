#pragma once

#include <cstdint>
#include <vector>

namespace headway {

// A rate over time that repeats: given by its values at equal steps of a period, linear in between
// (and from the last value back to the first). Used to stretch a uniform clock (time rescaling): the
// integral of the rate tells how much has come by a time, its inverse when so much has come.
// Both cost a search among the knots.
class RateCurve {
 public:
  // REQUIRES: at least one knot, all of them above 0; step_s > 0.
  RateCurve(std::vector<double> knots, double step_s);

  double rate(double time_s) const;
  double volume(double time_s) const;   // integral of the rate over 0..time_s
  double time_of(double volume) const;  // its inverse, seconds
  double period_s() const { return step_s_ * static_cast<double>(knots_.size()); }

 private:
  double after(std::size_t knot) const { return knots_[knot + 1 == knots_.size() ? 0 : knot + 1]; }

  std::vector<double> knots_;
  double step_s_;
  std::vector<double> cumulative_;  // volume up to each knot, and of the whole period
};

}  // namespace headway
