#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/profiler/backend.h"
#include "kernels/profiler/measure.h"

namespace headway::kernels {

// A row to be: one call of one entry. Probes are measured as the others are, but left out of the
// tables, so that a profile can state the error of reading between its points.
struct Point {
  const KernelEntry* entry = nullptr;
  Case call;
  bool probe = false;
};

// A point's median with its 95 % interval: order statistics of all samples, widened to hold the
// median of every visit (what drifted between visits is not in the noise within one).
struct Estimate {
  double us = 0, low_us = 0, high_us = 0;
  double relative_width() const { return (high_us - low_us) / us; }
};

struct Measured {
  std::vector<double> us;             // accepted samples of all visits
  std::vector<double> visit_medians;
  double clock_mhz = 0;               // median over samples; 0 = not known
  int rejected = 0;
  bool contended = false, throttled = false;
  bool left_out = false;              // does not fit into memory, or failed
  std::string failure;                // what the device said, where it failed
  double visit_s = 0;                 // what a visit costs: preparation and samples

  int visits() const { return static_cast<int>(visit_medians.size()); }
  Estimate estimate() const;          // REQUIRES: visits() > 0
};

// The same call timed again and again through the session, and a large copy beside it.
struct SentinelRow {
  double at_s, us, copy_us, clock_mhz;
};

struct SessionOptions {
  StoppingRule rule;
  std::uint64_t seed = 1;
  int max_visits = 4;             // of one point
  double sentinel_every_s = 5;
  double throttled_below = 0.75;  // of the clock at the first sentinel
  const std::atomic<bool>* stop = nullptr;
  // Called before each visit: points visited so far in this pass, points in it, pass (from 1).
  std::function<void(std::size_t, std::size_t, int, const Point&)> progress;
};

// Spends a time budget on a list of points. The first pass visits every point, in random order,
// with the fewest samples when time is short; each later pass, in a new random order, the points
// whose intervals are widest, as many as the time left allows. It never ends late by more than one
// sample and one preparation, and a first pass that does not end leaves points without visits:
// complete() is false and the profile says so.
class Session {
 public:
  // `sentinel`: the call repeated throughout; a null entry = only the copy.
  Session(Backend& backend, std::vector<Point> points, Point sentinel, SessionOptions options);

  // May be called again, to spend more time on the same points (interleaved with other work).
  void run(double budget_s);

  const std::vector<Point>& points() const { return points_; }
  const std::vector<Measured>& measured() const { return measured_; }
  const std::vector<SentinelRow>& sentinels() const { return sentinels_; }
  int passes() const { return passes_; }
  double elapsed_s() const { return elapsed_s_; }
  // Points visited, of those that fit.
  std::size_t visited() const;
  std::size_t fitting() const;
  bool complete() const { return visited() == fitting(); }
  // Relative spread of the sentinel over the session; 0 with fewer than three rows.
  double run_sigma() const;

 private:
  void first_pass();
  bool later_pass();
  void visit(std::size_t index, const StoppingRule& rule);
  void add_visit(Measured& m, const Visit& visit);
  void watch_sentinel(bool now);
  double width_for_choice(const Measured& m) const;
  bool over() const;
  std::vector<std::size_t> shuffled(std::vector<std::size_t> indices);

  Backend& backend_;
  std::vector<Point> points_;
  Point sentinel_;
  SessionOptions options_;
  std::vector<Measured> measured_;
  std::vector<SentinelRow> sentinels_;
  Deadline deadline_{0, nullptr};
  std::unique_ptr<PointTimer> sentinel_timer_;
  double begin_s_ = 0, elapsed_s_ = 0, last_sentinel_s_ = 0;
  int passes_ = 0;
  std::uint64_t draws_ = 0;
};

}  // namespace headway::kernels
