#include "sim/cost/fitted_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/core/errors.h"

namespace headway {
namespace {

constexpr std::size_t kParameters = 4;
constexpr std::size_t kMaxPoints = 1500;
constexpr int kIterations = 40;
constexpr double kHuber = 0.1;      // log error from which a point counts linearly
constexpr double kStep = 1e-4;      // of the numeric derivative, in log parameters
constexpr double kTiny = 1e-9;      // stands for "none" in log space
using Logs = std::array<double, kParameters>;

FittedModel model_of(const Logs& logs, const std::array<bool, kParameters>& used) {
  const auto value = [&](std::size_t i) { return used[i] ? std::exp(logs[i]) : 0.0; };
  return {value(0), value(1), value(2), value(3)};
}

// Solves a (small, positive definite) system in place by Gauss-Jordan with pivoting.
bool solve(std::array<std::array<double, kParameters + 1>, kParameters>& a) {
  for (std::size_t i = 0; i < kParameters; ++i) {
    std::size_t best = i;
    for (std::size_t r = i + 1; r < kParameters; ++r) {
      if (std::abs(a[r][i]) > std::abs(a[best][i])) best = r;
    }
    if (std::abs(a[best][i]) < 1e-300) return false;
    std::swap(a[i], a[best]);
    for (std::size_t r = 0; r < kParameters; ++r) {
      if (r == i) continue;
      const double factor = a[r][i] / a[i][i];
      for (std::size_t c = i; c <= kParameters; ++c) a[r][c] -= factor * a[i][c];
    }
  }
  return true;
}

class LeastSquares {
 public:
  LeastSquares(const std::vector<Demand>& demands, const std::vector<double>& times) {
    const std::size_t stride = (demands.size() + kMaxPoints - 1) / kMaxPoints;
    for (std::size_t i = 0; i < demands.size(); i += stride) {
      demands_.push_back(demands[i]);
      log_times_.push_back(std::log(times[i]));
    }
    start();
  }

  FittedModel run() {
    double damping = 1e-2, cost = cost_of(logs_);
    for (int i = 0; i < kIterations && damping < 1e8; ++i) {
      Logs next;
      if (!step(damping, next)) break;
      const double next_cost = cost_of(next);
      if (next_cost < cost) {
        const bool settled = cost - next_cost < 1e-9 * cost;
        logs_ = next;
        cost = next_cost;
        damping /= 4;
        if (settled) break;
      } else {
        damping *= 6;
      }
    }
    return model_of(logs_, used_);
  }

 private:
  // Every rate at its best case: no measured point may be faster than floor, compute or memory.
  void start() {
    double least = std::numeric_limits<double>::max();
    double per_flop = least, per_byte = least;
    bool sequences = false;
    for (std::size_t i = 0; i < demands_.size(); ++i) {
      const double us = std::exp(log_times_[i]);
      least = std::min(least, us);
      const Work& work = demands_[i].work;
      if (work.flops > 0) per_flop = std::min(per_flop, us / work.flops);
      if (work.bytes > 0) per_byte = std::min(per_byte, us / work.bytes);
      sequences = sequences || demands_[i].sequences > 0;
    }
    used_ = {true, per_flop < std::numeric_limits<double>::max(),
             per_byte < std::numeric_limits<double>::max(), sequences};
    log_least_ = std::log(least);
    logs_ = {std::log(0.8 * least), std::log(std::max(kTiny * kTiny, per_flop)),
             std::log(std::max(kTiny * kTiny, per_byte)), std::log(0.01 * least)};
  }

  double residual(const Logs& logs, std::size_t i) const {
    return std::log(model_of(logs, used_).us(demands_[i])) - log_times_[i];
  }

  double cost_of(const Logs& logs) const {
    const FittedModel model = model_of(logs, used_);
    double sum = 0;
    for (std::size_t i = 0; i < demands_.size(); ++i) {
      const double r = std::abs(std::log(model.us(demands_[i])) - log_times_[i]);
      sum += r <= kHuber ? r * r / 2 : kHuber * (r - kHuber / 2);
    }
    return sum;
  }

  bool step(double damping, Logs& next) const {
    std::array<std::array<double, kParameters + 1>, kParameters> a{};
    std::array<FittedModel, kParameters> moved;
    for (std::size_t p = 0; p < kParameters; ++p) {
      Logs logs = logs_;
      logs[p] += kStep;
      moved[p] = model_of(logs, used_);
    }
    const FittedModel here = model_of(logs_, used_);
    for (std::size_t i = 0; i < demands_.size(); ++i) {
      const double log_here = std::log(here.us(demands_[i]));
      const double r = log_here - log_times_[i];
      const double weight = std::abs(r) <= kHuber ? 1 : kHuber / std::abs(r);
      std::array<double, kParameters> slope{};
      for (std::size_t p = 0; p < kParameters; ++p) {
        if (used_[p]) slope[p] = (std::log(moved[p].us(demands_[i])) - log_here) / kStep;
      }
      for (std::size_t p = 0; p < kParameters; ++p) {
        for (std::size_t q = 0; q < kParameters; ++q) a[p][q] += weight * slope[p] * slope[q];
        a[p][kParameters] -= weight * slope[p] * r;
      }
    }
    for (std::size_t p = 0; p < kParameters; ++p) a[p][p] += damping * a[p][p] + 1e-9;
    if (!solve(a)) return false;
    for (std::size_t p = 0; p < kParameters; ++p) {
      next[p] = logs_[p] + std::clamp(a[p][kParameters] / a[p][p], -1.0, 1.0);
    }
    next[0] = std::min(next[0], log_least_);  // no measured call is faster than the floor
    return true;
  }

  std::vector<Demand> demands_;
  std::vector<double> log_times_;
  std::array<bool, kParameters> used_{};
  Logs logs_{};
  double log_least_ = 0;
};

}  // namespace

double FittedModel::us(const Demand& demand) const {
  const double c = us_per_flop * demand.work.flops, m = us_per_byte * demand.work.bytes;
  return floor_us + std::cbrt(c * c * c + m * m * m) + us_per_sequence * demand.sequences;
}

FittedModel fit_model(const std::vector<Demand>& demands, const std::vector<double>& times_us) {
  SIM_CHECK(!demands.empty() && demands.size() == times_us.size());
  return LeastSquares(demands, times_us).run();
}

}  // namespace headway
