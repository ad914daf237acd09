#pragma once

#include <chrono>
#include <string>

#include "sim/study/sweep.h"

namespace headway {

// "7 of 12 points (58 %), 1 refused, 0.8 points/s, 6 s left", of the points run so far.
std::string progress_text(const SweepCounts& counts, double seconds);
// "12 points: 10 run, 1 finished before, 1 refused"
std::string counts_text(const SweepCounts& counts);

// One line on stderr, redrawn ten times a second at most. Not for several threads at once.
class SweepProgress {
 public:
  SweepProgress(bool enabled, const SweepCounts& counts);
  ~SweepProgress() { wipe(); }
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;

  void add(PointStatus status);
  void wipe();
  const SweepCounts& counts() const { return counts_; }

 private:
  void draw();

  bool enabled_, drawn_ = false;
  SweepCounts counts_;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace headway
