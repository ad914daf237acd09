#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/study/plan.h"

namespace headway {

enum class PointStatus : std::uint8_t {
  kOk,
  kRefused,  // the setup cannot be built (the model does not fit ...): an answer of its own
  kFailed,   // an error while it ran: tried again by the next sweep
  kMissing,  // no file, a damaged one, or one of another plan
};
std::string status_name(PointStatus status);

// What stands in a point's file.
struct PointResult {
  PointStatus status = PointStatus::kMissing;
  std::string version;  // of the program that ran it
  std::string reason;   // of a refusal or failure
  std::string result;   // JSON text (report/result_json.h) of kOk; "" otherwise
};

// The folder of one sweep, which any number of processes may fill at once:
//   plan.json             the plan as it was resolved, with its hash
//   points/000123.json    one for each finished point, whole or not there; nothing of when, where
//                         or by how many it was computed
class SweepFolder {
 public:
  // Whether a sweep, of whatever plan, has been started there: its plan has been checked then.
  static bool started(const std::string& path);
  // Makes the folder, or finds it made for this very plan. InputError: a folder of another plan, or
  // one that cannot be written.
  static SweepFolder open(const std::string& path, const Plan& plan);
  // As it is found. InputError: no sweep there.
  static SweepFolder existing(const std::string& path);

  const std::string& path() const { return path_; }
  const Plan& plan() const { return plan_; }
  const std::string& hash() const { return hash_; }

  void write(const PlanPoint& point, const PointResult& result) const;
  PointResult read(std::int64_t index) const;

 private:
  SweepFolder(std::string path, Plan plan);
  std::string point_path(std::int64_t index) const;

  std::string path_, hash_;
  Plan plan_;
};

// {key: value} of the assignments.
nlohmann::ordered_json assignments_json(const PlanPoint& point);

}  // namespace headway
