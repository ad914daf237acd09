#include "sim/study/sweep.h"

#include <mutex>
#include <new>
#include <utility>

#include "sim/cluster/build.h"
#include "sim/core/errors.h"
#include "sim/core/parallel.h"
#include "sim/scenario/check.h"

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
    make_blueprints(scenario);
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
  const PointResult result = compute_point(folder_.plan(), index, version_, run_);
  folder_.write(plan_point(folder_.plan(), index), result);
  return result.status;
}

PointResult compute_point(const Plan& plan, std::int64_t index, const std::string& version,
                          const PointRunner& run) {
  PointResult result;
  result.version = version;
  try {
    const Scenario scenario = scenario_of(plan, plan_point(plan, index));
    try {
      result.result = run(scenario);
      result.status = PointStatus::kOk;
    } catch (const InputError& error) {
      result.status = cannot_be_built(scenario) ? PointStatus::kRefused : PointStatus::kFailed;
      result.reason = reason_of(error);
    }
  } catch (const ContradictionError& error) {
    result.status = PointStatus::kRefused;
    result.reason = reason_of(error);
  } catch (const InputError& error) {
    result.status = PointStatus::kFailed;
    result.reason = reason_of(error);
  } catch (const StudyError& error) {
    result.status = PointStatus::kFailed;
    result.reason = error.what();
  } catch (const std::bad_alloc&) {
    result.status = PointStatus::kFailed;
    result.reason = "out of memory";
  } catch (const std::exception& error) {
    result.status = PointStatus::kFailed;
    result.reason = std::string("internal error: ") + error.what();
  }
  return result;
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
