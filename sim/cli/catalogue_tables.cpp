#include "sim/cli/catalogue_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/core/data_files.h"
#include "sim/core/input_file.h"
#include "sim/core/json_file.h"
#include "sim/cost/accuracy.h"
#include "sim/cost/profile.h"
#include "sim/hardware/gpu_catalogue.h"
#include "sim/routing/router.h"
#include "sim/scheduling/scheduler.h"
#include "sim/workload/trace_format.h"

namespace headway {
namespace {

TextTable schedulers() {
  TextTable rows = {{"name", "rule"}};
  for (const SchedulerEntry& entry : scheduler_table()) {
    rows.push_back({std::string(entry.name), std::string(entry.help)});
  }
  return rows;
}

TextTable routers() {
  TextTable rows = {{"name", "rule"}};
  for (const RouterEntry& entry : router_table()) {
    rows.push_back({std::string(entry.name), std::string(entry.help)});
  }
  return rows;
}

std::string tera(double value) { return value > 0 ? fmt::format("{:.4g}", value / 1e12) : "-"; }

TextTable gpus() {
  TextTable rows = {{"name", "memory_gb", "bandwidth_tb_per_s", "bf16_tflops", "fp8_tflops",
                     "fp4_tflops", "usd_per_hour", "full_name"}};
  for (const std::string& name : catalogue_names("gpus")) {
    const GpuSpec g = load_gpu(name);
    rows.push_back({name, fmt::format("{:.1f}", static_cast<double>(g.memory_bytes) / 1e9),
                    tera(g.memory_bandwidth), tera(g.flops_bf16), tera(g.flops_fp8),
                    tera(g.flops_fp4), fmt::format("{:.2f}", g.price_per_hour), g.full_name});
  }
  return rows;
}

// Only profile.json is read: the tables would take a second each.
TextTable profiles() {
  TextTable rows = {{"name", "gpu", "tables", "rows", "measured_by", "licence", "source"}};
  const auto text = [](const nlohmann::json& object, const char* key) {
    return object.contains(key) && object.at(key).is_string() ? object.at(key).get<std::string>()
                                                              : "-";
  };
  for (const std::string& name : catalogue_names("profiles")) {
    const nlohmann::json json =
        read_json_file(data_folder("profiles") + "/" + name + "/profile.json");
    const nlohmann::json provenance = json.value("provenance", nlohmann::json::object());
    const nlohmann::json tables = json.value("tables", nlohmann::json::array());
    std::int64_t points = 0;
    for (const auto& table : tables) points += table.value("rows", std::int64_t{0});
    rows.push_back({name, text(json, "gpu"), std::to_string(tables.size()), std::to_string(points),
                    text(provenance, "measured_by"), text(provenance, "licence"),
                    text(provenance, "source")});
  }
  return rows;
}

TextTable formats() {
  TextTable rows = {{"name", "told_by", "what"}};
  for (const TraceFormat& format : trace_formats()) {
    rows.push_back({format.name, format.recognised, format.help});
  }
  return rows;
}

// The comment that a scenario opens with is what it is about.
std::string first_comment(const std::string& file) {
  LineReader lines(file);
  std::string_view line;
  while (lines.next(line)) {
    const auto start = line.find("//");
    if (start == std::string_view::npos) continue;
    const auto word = line.find_first_not_of("/ ", start);
    if (word != std::string_view::npos) return std::string(line.substr(word));
  }
  return "-";
}

TextTable scenarios() {
  TextTable rows = {{"name", "what"}};
  for (const std::string& name : catalogue_names("scenarios")) {
    rows.push_back({name, first_comment(data_folder("scenarios") + "/" + name + ".json")});
  }
  return rows;
}

}  // namespace

std::span<const CatalogueKind> catalogue_kinds() {
  static constexpr std::array<CatalogueKind, 8> kKinds{{
      {"schedulers", "engine.scheduler: what decides each step", schedulers},
      {"routers", "cluster.router: what chooses a replica", routers},
      {"models", "model: the architectures of the catalogue", model_rows},
      {"prunings", "model.pruning: published models that came out of pruning", pruning_rows},
      {"gpus", "gpu: the accelerators of the catalogue", gpus},
      {"profiles", "profile: measured kernel times, with who measured them", profiles},
      {"formats", "workload.format: the traces that are read", formats},
      {"scenarios", "what `headway run NAME` can run as it is", scenarios},
  }};
  return kKinds;
}

TextTable accuracy_table(const std::string& prefix) {
  TextTable rows = {{"profile", "op", "variant", "held_out", "points", "median_percent",
                     "p90_percent", "bias_percent"}};
  for (const std::string& name : catalogue_names("profiles")) {
    if (!name.starts_with(prefix)) continue;
    const Profile profile = read_profile(data_folder("profiles") + "/" + name, name);
    for (const AccuracyRow& row : profile_accuracy(profile)) {
      rows.push_back({name, row.op, row.variant, row.held_out, std::to_string(row.points),
                      fmt::format("{:.2f}", row.median_percent),
                      fmt::format("{:.2f}", row.p90_percent),
                      fmt::format("{:+.2f}", row.bias_percent)});
    }
  }
  return rows;
}

}  // namespace headway
