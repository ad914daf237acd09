#include "sim/workload/rate_curve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "sim/core/errors.h"

namespace headway {

RateCurve::RateCurve(std::vector<double> knots, double step_s)
    : knots_(std::move(knots)), step_s_(step_s) {
  SIM_CHECK(!knots_.empty() && step_s_ > 0);
  cumulative_.push_back(0);
  for (std::size_t i = 0; i < knots_.size(); ++i) {
    SIM_CHECK(knots_[i] > 0);
    cumulative_.push_back(cumulative_.back() + 0.5 * (knots_[i] + after(i)) * step_s_);
  }
}

double RateCurve::rate(double time_s) const {
  const double steps = std::fmod(time_s, period_s()) / step_s_;
  const std::size_t knot = std::min(static_cast<std::size_t>(steps), knots_.size() - 1);
  return knots_[knot] + (after(knot) - knots_[knot]) * (steps - static_cast<double>(knot));
}

double RateCurve::volume(double time_s) const {
  const double periods = std::floor(time_s / period_s());
  const double steps = (time_s - periods * period_s()) / step_s_;
  const std::size_t knot = std::min(static_cast<std::size_t>(steps), knots_.size() - 1);
  const double x = steps - static_cast<double>(knot);
  const double rise = after(knot) - knots_[knot];
  return periods * cumulative_.back() + cumulative_[knot] +
         (knots_[knot] + 0.5 * rise * x) * x * step_s_;
}

double RateCurve::time_of(double volume) const {
  const double periods = std::floor(volume / cumulative_.back());
  const double rest = volume - periods * cumulative_.back();
  const auto above = std::upper_bound(cumulative_.begin() + 1, cumulative_.end() - 1, rest);
  const auto knot = static_cast<std::size_t>(above - cumulative_.begin()) - 1;
  // knots x + rise x^2 / 2 = v, in the form that does not cancel.
  const double v = std::max(0.0, rest - cumulative_[knot]) / step_s_;
  const double low = knots_[knot];
  const double rise = after(knot) - low;
  const double root = std::sqrt(std::max(0.0, low * low + 2 * rise * v));
  const double x = std::min(1.0, 2 * v / (low + root));
  return periods * period_s() + (static_cast<double>(knot) + x) * step_s_;
}

}  // namespace headway
