#include "sim/study/sweep_folder.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "sim/core/output_file.h"

namespace headway {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;
constexpr std::array<const char*, 4> kStatusNames = {"ok", "refused", "failed", "missing"};

std::string to_text(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path)) {
    throw InputError({path, "", "a folder that cannot be made (" + error.message() + ")",
                      "a writable place for a sweep's results"});
  }
}

void write_file(const std::string& path, const std::string& text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

std::string plan_path(const std::string& folder) { return folder + "/plan.json"; }

// The hash that a folder's plan.json states.
std::string stated_hash(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("plan_hash")) return "";
  return json["plan_hash"].is_string() ? json["plan_hash"].get<std::string>() : "";
}

}  // namespace

std::string status_name(PointStatus status) {
  return kStatusNames.at(static_cast<std::size_t>(status));
}

Json assignments_json(const PlanPoint& point) {
  Json json = Json::object();
  for (const Assignment& a : point.assignments) json[a.key] = Json::parse(a.value);
  return json;
}

SweepFolder::SweepFolder(std::string path, Plan plan)
    : path_(std::move(path)), hash_(plan_hash(plan)), plan_(std::move(plan)) {}

bool SweepFolder::started(const std::string& path) {
  std::error_code ec;
  return fs::exists(plan_path(path), ec);
}

SweepFolder SweepFolder::open(const std::string& path, const Plan& plan) {
  SweepFolder folder(path, plan);
  if (!started(path)) {
    make_folder(path + "/points");
    Json json = {{"schema_version", kSchemaVersion}, {"plan_hash", folder.hash_}};
    json.update(Json::parse(plan_text(plan)));
    try {
      write_file(plan_path(path), to_text(json));
    } catch (const InputError&) {
      // Another process of this sweep may have been quicker, under the same temporary name.
      if (!started(path)) throw;
    }
  }
  const std::string found = stated_hash(read_whole_file(plan_path(path)));
  if (found != folder.hash_) {
    throw InputError({plan_path(path), "plan_hash",
                      found.empty() ? "no plan" : "\"" + found + "\", another plan",
                      "\"" + folder.hash_ + "\", that of " + plan.file + ", or another -o DIR"});
  }
  make_folder(path + "/points");
  return folder;
}

SweepFolder SweepFolder::existing(const std::string& path) {
  if (!started(path)) {
    throw InputError({path, "", "no plan.json there", "the folder of a sweep (its -o DIR)"});
  }
  const std::string text = read_whole_file(plan_path(path));
  SweepFolder folder(path, plan_from_text(text, plan_path(path)));
  if (stated_hash(text) != folder.hash_) {
    throw InputError({plan_path(path), "plan_hash", "\"" + stated_hash(text) + "\"",
                      "\"" + folder.hash_ + "\", what the plan beside it gives"});
  }
  return folder;
}

std::string SweepFolder::point_path(std::int64_t index) const {
  char name[32];
  std::snprintf(name, sizeof name, "/points/%06lld.json", static_cast<long long>(index));
  return path_ + name;
}

void SweepFolder::write(const PlanPoint& point, const PointResult& result) const {
  Json json = {{"schema_version", kSchemaVersion},
               {"plan_hash", hash_},
               {"point", point.index},
               {"version", result.version},
               {"assignments", assignments_json(point)},
               {"status", status_name(result.status)}};
  if (!result.reason.empty()) json["reason"] = result.reason;
  if (!result.result.empty()) json["result"] = Json::parse(result.result);
  write_file(point_path(point.index), to_text(json));
}

PointResult SweepFolder::read(std::int64_t index) const {
  PointResult point;
  std::error_code ec;
  if (!fs::exists(point_path(index), ec)) return point;
  try {
    const Json json = Json::parse(read_whole_file(point_path(index)));
    if (json.at("schema_version") != kSchemaVersion || json.at("plan_hash") != hash_ ||
        json.at("point") != index) {
      return point;
    }
    const auto status = json.at("status").get<std::string>();
    point.version = json.at("version").get<std::string>();
    if (json.contains("reason")) point.reason = json["reason"].get<std::string>();
    if (json.contains("result")) point.result = json["result"].dump();
    for (const PointStatus each : {PointStatus::kOk, PointStatus::kRefused, PointStatus::kFailed}) {
      if (status == status_name(each)) point.status = each;
    }
    if (point.status == PointStatus::kOk && point.result.empty()) return {};
  } catch (const std::exception&) {
    return {};  // damaged: as if it were not there
  }
  return point;
}

}  // namespace headway
