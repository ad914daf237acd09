#include "kernels/profiler/session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/profiler/statistics.h"
#include "sim/core/errors.h"
#include "sim/core/hash.h"

namespace headway::kernels {
namespace {

// Visited once, a point has shown nothing of its drift: what the intervals of points visited again
// typically gain.
constexpr double kDriftGuess = 0.02;
constexpr int kFewestSamples = 3;  // of a first visit when time is short
constexpr int kSentinelSamples = 3;

}  // namespace

Estimate Measured::estimate() const {
  SIM_CHECK(!us.empty() && !visit_medians.empty());
  Estimate e;
  e.us = median(us);
  const Interval interval = median_interval(us);
  const auto [low, high] = std::minmax_element(visit_medians.begin(), visit_medians.end());
  e.low_us = std::min({interval.low, *low, e.us});
  e.high_us = std::max({interval.high, *high, e.us});
  return e;
}

Session::Session(Backend& backend, std::vector<Point> points, Point sentinel,
                 SessionOptions options)
    : backend_(backend),
      points_(std::move(points)),
      sentinel_(std::move(sentinel)),
      options_(std::move(options)),
      measured_(points_.size()) {}

std::size_t Session::visited() const {
  return static_cast<std::size_t>(std::count_if(
      measured_.begin(), measured_.end(), [](const Measured& m) { return m.visits() > 0; }));
}

std::size_t Session::fitting() const {
  return static_cast<std::size_t>(std::count_if(
      measured_.begin(), measured_.end(), [](const Measured& m) { return !m.left_out; }));
}

double Session::run_sigma() const {
  if (sentinels_.size() < 3) return 0;
  std::vector<double> us;
  for (const SentinelRow& row : sentinels_) us.push_back(row.us);
  return robust_sigma(us);
}

bool Session::over() const {
  return deadline_.stopped() || backend_.now_s() >= deadline_.at_s;
}

void Session::run(double budget_s) {
  const double begin = backend_.now_s();
  begin_s_ = begin - elapsed_s_;
  deadline_ = {begin + budget_s, options_.stop};
  watch_sentinel(true);
  if (!complete()) first_pass();
  while (complete() && !over() && later_pass()) {
  }
  if (!over()) watch_sentinel(true);
  sentinel_timer_.reset();
  elapsed_s_ = backend_.now_s() - begin_s_;
}

std::vector<std::size_t> Session::shuffled(std::vector<std::size_t> indices) {
  std::uint64_t state = combine64(options_.seed, ++draws_);
  for (std::size_t i = indices.size(); i > 1; --i) {
    state = mix64(state);
    std::swap(indices[i - 1], indices[state % i]);
  }
  return indices;
}

void Session::first_pass() {
  ++passes_;
  std::vector<std::size_t> todo;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (measured_[i].visits() == 0 && !measured_[i].left_out) todo.push_back(i);
  }
  todo = shuffled(std::move(todo));
  const double begin = backend_.now_s();
  for (std::size_t n = 0; n < todo.size() && !over(); ++n) {
    const double now = backend_.now_s(), left = deadline_.at_s - now;
    const double rest = static_cast<double>(todo.size() - n);
    StoppingRule rule = options_.rule;
    // The first visits look at nothing but their minimum; they speed up when they would be late.
    rule.cap_s = std::min(rule.cap_s, 2 * left / rest);
    if (n > 0 && (now - begin) / static_cast<double>(n) * rest > left) {
      rule.min_samples = std::min(rule.min_samples, kFewestSamples);
      rule.cap_s = 0;
    }
    if (options_.progress) options_.progress(n, todo.size(), passes_, points_[todo[n]]);
    visit(todo[n], rule);
    watch_sentinel(false);
  }
}

double Session::width_for_choice(const Measured& m) const {
  const double width = m.estimate().relative_width();
  return width + (m.visits() == 1 ? kDriftGuess : 0) + (m.contended ? 1 : 0);
}

// Returns whether there was anything to do.
bool Session::later_pass() {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Measured& m = measured_[i];
    if (m.left_out || m.visits() >= options_.max_visits) continue;
    const bool wide = width_for_choice(m) > 2 * options_.rule.target;
    if (m.visits() == 1 || wide) candidates.push_back(i);
  }
  // Widest first, ties in random order; as many as fit into the time left.
  candidates = shuffled(std::move(candidates));
  std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
    return width_for_choice(measured_[a]) > width_for_choice(measured_[b]);
  });
  double left = deadline_.at_s - backend_.now_s();
  std::vector<std::size_t> chosen;
  for (const std::size_t i : candidates) {
    if (measured_[i].visit_s > left) continue;
    left -= measured_[i].visit_s;
    chosen.push_back(i);
  }
  if (chosen.empty()) return false;
  ++passes_;
  chosen = shuffled(std::move(chosen));
  for (std::size_t n = 0; n < chosen.size() && !over(); ++n) {
    if (backend_.now_s() + measured_[chosen[n]].visit_s > deadline_.at_s) continue;
    if (options_.progress) options_.progress(n, chosen.size(), passes_, points_[chosen[n]]);
    visit(chosen[n], options_.rule);
    watch_sentinel(false);
  }
  return true;
}

void Session::visit(std::size_t index, const StoppingRule& rule) {
  const Point& point = points_[index];
  Measured& m = measured_[index];
  const double begin = backend_.now_s();
  const auto now_s = [this] { return backend_.now_s(); };
  try {
    const auto timer = backend_.prepare(single(*point.entry, point.call),
                                        combine64(options_.seed, index));
    Visit visit = measure(*timer, now_s, rule, deadline_);
    const double reference = sentinels_.empty() ? 0 : sentinels_.front().clock_mhz;
    const auto slow = [&](const Visit& v) {
      return reference > 0 && !v.clock_mhz.empty() &&
             median(v.clock_mhz) < options_.throttled_below * reference;
    };
    if (slow(visit)) {  // once more; whichever ran at the higher clock counts
      Visit again = measure(*timer, now_s, rule, deadline_);
      const bool faster =
          !slow(again) || median(again.clock_mhz) > median(visit.clock_mhz);
      if (!again.us.empty() && faster) {
        again.rejected += visit.rejected;
        visit = std::move(again);
      }
      m.throttled = slow(visit);
    }
    add_visit(m, visit);
  } catch (const DoesNotFit&) {
    m.left_out = true;
  } catch (const std::runtime_error& error) {  // the device's: one call that it refuses is one row
    m.left_out = true;
    m.failure = error.what();
  }
  m.visit_s = std::max(m.visit_s, backend_.now_s() - begin);
}

void Session::add_visit(Measured& m, const Visit& visit) {
  m.rejected += visit.rejected;
  if (visit.us.empty()) return;
  if (visit.contended && m.visits() > 0) return;  // clean samples are there already
  if (m.contended && !visit.contended) {
    m.us.clear();
    m.visit_medians.clear();
  }
  m.contended = visit.contended;
  m.us.insert(m.us.end(), visit.us.begin(), visit.us.end());
  m.visit_medians.push_back(median(visit.us));
  if (!visit.clock_mhz.empty()) m.clock_mhz = median(visit.clock_mhz);
}

void Session::watch_sentinel(bool due) {
  const double now = backend_.now_s();
  if (!due && now - last_sentinel_s_ < options_.sentinel_every_s) return;
  if (over()) return;
  SentinelRow row{now - begin_s_, 0, backend_.copy_us(), 0};
  if (sentinel_.entry != nullptr) {
    if (sentinel_timer_ == nullptr) {
      sentinel_timer_ = backend_.prepare(single(*sentinel_.entry, sentinel_.call), options_.seed);
    }
    StoppingRule rule = options_.rule;
    rule.min_samples = kSentinelSamples;
    rule.cap_s = 0;
    const Visit visit =
        measure(*sentinel_timer_, [this] { return backend_.now_s(); }, rule, deadline_);
    if (visit.us.empty()) return;
    row.us = median(visit.us);
    if (!visit.clock_mhz.empty()) row.clock_mhz = median(visit.clock_mhz);
  } else {
    row.us = row.copy_us;
  }
  sentinels_.push_back(row);
  last_sentinel_s_ = backend_.now_s();
}

}  // namespace headway::kernels
