#include "sim/study/sweep.h"

#include <mutex>
#include <new>
#include <utility>

#include "sim/cluster/build.h"
#include "sim/core/errors.h"
#include "sim/core/parallel.h"

namespace headway {
namespace {

// Without the file: how a path is spelled depends on where the sweep was started.
std::string reason_of(const InputError& error) {
  const InputError::Parts& parts = error.parts();
  if (parts.found.empty() && parts.expected.empty()) return error.what();
  return InputError({"", parts.place, parts.found, parts.expected}).what();
}

// Whether it is the setup that cannot be, and not its workload.
bool cannot_be_built(const Scenario& scenario) {
  try {
    make_blueprint(scenario);
  } catch (const InputError&) {
    return true;
  }
  return false;
}

}  // namespace

void SweepCounts::add(PointStatus status) {
  SIM_CHECK(status != PointStatus::kMissing);
  ++(status == PointStatus::kOk ? ok : status == PointStatus::kRefused ? refused : failed);
}

std::vector<std::int64_t> Sweep::left(const Shard& shard, bool force, SweepCounts& counts) const {
  const std::vector<std::int64_t> all = shard_points(point_count(folder_.plan()), shard);
  counts.total = static_cast<std::int64_t>(all.size());
  if (force) return all;
  std::vector<std::int64_t> left;
  for (const std::int64_t index : all) {
    const PointResult before = folder_.read(index);
    const bool finished =
        before.status == PointStatus::kOk || before.status == PointStatus::kRefused;
    if (finished && before.version != version_) {
      throw InputError({folder_.path(), "point " + std::to_string(index),
                        "a result of version " + before.version,
                        "version " + version_ + " as now at work, another -o DIR, or --force"});
    }
    if (!finished) left.push_back(index);
  }
  counts.found = counts.total - static_cast<std::int64_t>(left.size());
  return left;
}

PointStatus Sweep::run(std::int64_t index) const {
  const PlanPoint point = plan_point(folder_.plan(), index);
  PointResult result;
  result.version = version_;
  try {
    const Scenario scenario = scenario_of(folder_.plan(), point);
    try {
      result.result = run_(scenario);
      result.status = PointStatus::kOk;
    } catch (const InputError& error) {
      result.status = cannot_be_built(scenario) ? PointStatus::kRefused : PointStatus::kFailed;
      result.reason = reason_of(error);
    }
  } catch (const InputError& error) {
    result.status = PointStatus::kFailed;
    result.reason = reason_of(error);
  } catch (const std::bad_alloc&) {
    result.status = PointStatus::kFailed;
    result.reason = "out of memory";
  } catch (const std::exception& error) {
    result.status = PointStatus::kFailed;
    result.reason = std::string("internal error: ") + error.what();
  }
  folder_.write(point, result);
  return result.status;
}

void run_on_threads(const Sweep& sweep, std::span<const std::int64_t> points, int threads,
                    const std::function<void(PointStatus)>& done) {
  std::mutex one_at_a_time;
  parallel_for(points.size(), threads, [&](std::size_t i) {
    const PointStatus status = sweep.run(points[i]);
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    done(status);
  });
}

}  // namespace headway
