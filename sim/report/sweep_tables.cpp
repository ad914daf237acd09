#include "sim/report/sweep_tables.h"

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "sim/report/csv_writer.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

// Column -> where in the result.
constexpr std::array<std::pair<const char*, const char*>, 34> kResultColumns{{
    {"completed", "/completed"},
    {"failed_requests", "/failed"},
    {"duration_s", "/duration"},
    {"request_throughput", "/request_throughput"},
    {"request_goodput", "/request_goodput"},
    {"slo_attainment", "/headway/slo_attainment"},
    {"output_throughput", "/output_throughput"},
    {"total_token_throughput", "/total_token_throughput"},
    {"mean_ttft_ms", "/mean_ttft_ms"},
    {"p50_ttft_ms", "/p50_ttft_ms"},
    {"p90_ttft_ms", "/p90_ttft_ms"},
    {"p99_ttft_ms", "/p99_ttft_ms"},
    {"mean_tpot_ms", "/mean_tpot_ms"},
    {"p50_tpot_ms", "/p50_tpot_ms"},
    {"p90_tpot_ms", "/p90_tpot_ms"},
    {"p99_tpot_ms", "/p99_tpot_ms"},
    {"mean_itl_ms", "/mean_itl_ms"},
    {"p99_itl_ms", "/p99_itl_ms"},
    {"mean_e2el_ms", "/mean_e2el_ms"},
    {"p50_e2el_ms", "/p50_e2el_ms"},
    {"p90_e2el_ms", "/p90_e2el_ms"},
    {"p99_e2el_ms", "/p99_e2el_ms"},
    {"queue_ms", "/headway/attribution_ms/queue"},
    {"interference_ms", "/headway/attribution_ms/interference"},
    {"mean_batch", "/headway/engine/mean_batch"},
    {"busy_share", "/headway/engine/busy_share"},
    {"kv_peak_share", "/headway/kv/peak_share"},
    {"prefix_hit_rate", "/headway/kv/prefix_hit_rate"},
    {"preemptions", "/headway/preemptions"},
    {"extrapolated", "/headway/coverage/extrapolated"},
    {"load", "/headway/verdict/load"},
    {"steps", "/headway/steps"},
    {"result_seed", "/headway/seed"},
    {"fingerprint", "/headway/fingerprint"},
}};

std::string cell_text(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::int64_t gpus_of_parallel(const Json& parallel) {
  std::int64_t gpus = 1;
  for (const char* size : {"tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size",
                           "context_parallel_size"}) {
    gpus *= parallel.value(size, std::int64_t{1});
  }
  return gpus;
}

// GPUs that the scenario of a result occupies.
std::int64_t gpus_of_result(const Json& result) {
  const Json& scenario = result.at("headway").at("scenario");
  const Json& cluster = scenario.at("cluster");
  const std::int64_t each = gpus_of_parallel(scenario.at("parallel"));
  if (!cluster.contains("pools")) return each * cluster.at("replicas").get<std::int64_t>();
  std::int64_t gpus = 0;
  for (const Json& pool : cluster.at("pools")) {
    gpus += pool.at("replicas").get<std::int64_t>() *
            (pool.contains("parallel") ? gpus_of_parallel(pool.at("parallel")) : each);
  }
  return gpus;
}

std::string header(const Plan& plan) {
  std::string text = "point";
  for (const PlanAxis& axis : plan.axes) {
    for (const std::string& key : axis.keys) text += "," + key;  // dotted names need no quotes
  }
  text += ",status,gpus";
  for (const auto& [column, pointer] : kResultColumns) text += std::string(",") + column;
  return text + ",reason";
}

void write_row(CsvWriter& csv, const PlanPoint& point, const PointResult& result) {
  csv.integer(point.index);
  for (const Assignment& a : point.assignments) csv.text(plain_value(a.value));
  csv.text(status_name(result.status));
  if (result.status == PointStatus::kOk) {
    const Json json = Json::parse(result.result);
    csv.integer(gpus_of_result(json));
    for (const auto& [column, pointer] : kResultColumns) {
      const Json::json_pointer at{pointer};
      csv.text(json.contains(at) ? cell_text(json.at(at)) : "");
    }
  } else {
    for (std::size_t i = 0; i < kResultColumns.size() + 1; ++i) csv.empty();
  }
  csv.text(result.reason);
  csv.end_row();
}

Json point_json(const PlanPoint& point, const PointResult& result) {
  Json json = {{"point", point.index},
               {"assignments", assignments_json(point)},
               {"status", status_name(result.status)}};
  if (!result.reason.empty()) json["reason"] = result.reason;
  if (!result.result.empty()) json["result"] = Json::parse(result.result);
  return json;
}

// Which points are there, and of which version of the program.
SweepMerge survey(const SweepFolder& folder, std::string& version) {
  SweepMerge merge;
  std::int64_t first = -1;
  const std::int64_t count = point_count(folder.plan());
  for (std::int64_t index = 0; index < count; ++index) {
    const PointResult result = folder.read(index);
    switch (result.status) {
      case PointStatus::kMissing: merge.missing.push_back(index); continue;
      case PointStatus::kFailed: merge.failed.push_back(index); break;
      case PointStatus::kRefused: ++merge.refused; break;
      case PointStatus::kOk: ++merge.ok; break;
    }
    if (first < 0) {
      first = index;
      version = result.version;
    } else if (version != result.version) {
      throw InputError({folder.path(), "point " + std::to_string(index),
                        "a result of version " + result.version,
                        "version " + version + ", of which point " + std::to_string(first) +
                            " is (headway sweep --force redoes all)"});
    }
  }
  return merge;
}

// A list of points in JSON, written one by one: a sweep may be larger than memory.
class JsonFile {
 public:
  JsonFile(const std::string& path, const SweepFolder& folder, const std::string& version)
      : file_(path) {
    const Json head = {{"schema_version", 1},
                       {"version", version},
                       {"plan_hash", folder.hash()},
                       {"plan", Json::parse(plan_text(folder.plan()))}};
    std::string text = head.dump(1);
    text.resize(text.size() - 2);  // its last line, "}"
    file_.write(text + ",\n \"points\": [\n");
  }
  void add(const PlanPoint& point, const PointResult& result) {
    file_.write((first_ ? "" : ",\n") + point_json(point, result).dump());
    first_ = false;
  }
  void commit() {
    file_.write("\n ]\n}\n");
    file_.commit();
  }

 private:
  OutputFile file_;
  bool first_ = true;
};

}  // namespace

std::string ranges_text(const std::vector<std::int64_t>& sorted) {
  constexpr int kMostRanges = 10;
  std::string text;
  int ranges = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    if (++ranges > kMostRanges) return text + " ... (" + std::to_string(sorted.size()) + " in all)";
    std::size_t end = i;
    while (end + 1 < sorted.size() && sorted[end + 1] == sorted[end] + 1) ++end;
    text += (i == 0 ? "" : ", ") + std::to_string(sorted[i]);
    if (end > i) text += "-" + std::to_string(sorted[end]);
    i = end + 1;
  }
  return text;
}

SweepMerge merge_sweep(const SweepFolder& folder, const std::string& csv_path,
                       const std::string& json_path, bool partial) {
  if (!folder.plan().study.empty()) {
    throw InputError({folder.path(), "", "the folder of a capacity study",
                      "that of a sweep (headway capacity --plan makes its own tables)"});
  }
  std::string version;
  SweepMerge merge = survey(folder, version);
  if (!merge.missing.empty() && !partial) return merge;
  std::unique_ptr<CsvWriter> csv;
  std::unique_ptr<JsonFile> json;
  if (!csv_path.empty()) csv = std::make_unique<CsvWriter>(csv_path, header(folder.plan()));
  if (!json_path.empty()) json = std::make_unique<JsonFile>(json_path, folder, version);
  const std::int64_t count = point_count(folder.plan());
  for (std::int64_t index = 0; index < count; ++index) {
    const PlanPoint point = plan_point(folder.plan(), index);
    const PointResult result = folder.read(index);
    if (csv) write_row(*csv, point, result);
    if (json) json->add(point, result);
  }
  if (csv) csv->commit();
  if (json) json->commit();
  return merge;
}

}  // namespace headway
