#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "sim/study/shard.h"
#include "sim/study/sweep_folder.h"

namespace headway {

// Simulates one scenario and gives the JSON text of its result: the same for the same scenario, so
// without date and wall time. Called from many threads. InputError: refused or failed; StudyError:
// failed.
using PointRunner = std::function<std::string(const Scenario&)>;

// Runs one point; an error is a result of its own. Any thread.
PointResult compute_point(const Plan& plan, std::int64_t index, const std::string& version,
                          const PointRunner& run);

struct SweepCounts {
  std::int64_t total = 0;                     // points of this shard
  std::int64_t found = 0;                     // of them, finished before
  std::int64_t ok = 0, refused = 0, failed = 0;  // now
  std::int64_t done() const { return found + ok + refused + failed; }
  void add(PointStatus status);
};

// The points of one shard that are left to run, whoever runs them: threads or processes.
class Sweep {
 public:
  Sweep(const SweepFolder& folder, std::string version, PointRunner run)
      : folder_(folder), version_(std::move(version)), run_(std::move(run)) {}

  // What is left of the shard, in the order to run, and what is finished already, in `counts`;
  // `force`: nothing is. A failed point is not finished. InputError: a finished point of another
  // version of the program, whose numbers may differ.
  std::vector<std::int64_t> left(const Shard& shard, bool force, SweepCounts& counts) const;

  // Runs one point and writes its file. Any thread. InputError only when that cannot be written.
  PointStatus run(std::int64_t index) const;

 private:
  const SweepFolder& folder_;
  std::string version_;
  PointRunner run_;
};

// Runs the points on threads; `done` is called after each, one call at a time.
void run_on_threads(const Sweep& sweep, std::span<const std::int64_t> points, int threads,
                    const std::function<void(PointStatus)>& done);

}  // namespace headway
