#include "tests/conformance/replay.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/core/errors.h"

namespace headway::conformance {
namespace {

using nlohmann::json;

// Words for people, never compared.
bool is_remark(std::string_view key) {
  return key == "note" || key == "comment" || key == "description";
}

class Comparison {
 public:
  Comparison(std::int64_t step, std::span<const std::string_view> maps)
      : step_(step), maps_(maps) {}

  std::optional<Disagreement> values(const std::string& field, std::string_view name,
                                     const json& expected, const json& got) const {
    if (expected.is_object() && got.is_object()) return objects(field, name, expected, got);
    const bool rows = expected.is_array() && got.is_array() && expected.size() == got.size();
    if (!rows || expected.empty() || !expected.front().is_object()) {
      if (expected == got) return std::nullopt;
      return Disagreement{step_, field, expected.dump(), got.dump()};
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      auto found = values(field + "[" + std::to_string(i) + "]", "", expected[i], got[i]);
      if (found) return found;
    }
    return std::nullopt;
  }

  std::optional<Disagreement> objects(const std::string& field, std::string_view name,
                                      const json& expected, const json& got) const {
    const std::string dot = field.empty() ? "" : field + ".";
    for (const auto& [key, value] : expected.items()) {
      if (is_remark(key)) continue;
      if (!got.contains(key)) return Disagreement{step_, dot + key, value.dump(), "(nothing)"};
      if (auto found = values(dot + key, key, value, got[key])) return found;
    }
    if (std::find(maps_.begin(), maps_.end(), name) == maps_.end()) return std::nullopt;
    for (const auto& [key, value] : got.items()) {
      if (!expected.contains(key)) {
        return Disagreement{step_, dot + key, "(nothing)", value.dump()};
      }
    }
    return std::nullopt;
  }

 private:
  std::int64_t step_;
  std::span<const std::string_view> maps_;
};

}  // namespace

std::span<const Replayer> replayers() {
  static const std::vector<Replayer> kRows = {
      {"llmsim-golden-metrics/", replay_metrics},
      {"llmsim-golden-vllm-v1/", replay_vllm_v1},
      {"llmsim-golden-vllm-v0/", replay_vllm_v0},
      {"llmsim-golden-sglang/", replay_sglang},
      {"llmsim-golden-sarathi-repo/", replay_sarathi_repo},
      {"llmsim-golden-trtllm/", replay_trtllm},
  };
  return kRows;
}

FileResult replay_file(const std::filesystem::path& path) {
  FileResult result{.path = path};
  try {
    std::ifstream in(path);
    const json recording = json::parse(in);
    result.schema = recording.value("schema", "");
    for (const Replayer& row : replayers()) {
      if (!result.schema.starts_with(row.schema_prefix)) continue;
      result.disagreement = row.replay(recording, path);
      return result;
    }
    result.problem = "no replayer for schema \"" + result.schema + "\"";
  } catch (const std::exception& error) {
    result.problem = error.what();
  }
  return result;
}

std::vector<std::filesystem::path> find_recordings(const std::vector<std::string>& roots) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (const std::string& root : roots) {
    if (fs::is_regular_file(root)) {
      files.emplace_back(root);
      continue;
    }
    if (!fs::is_directory(root)) {
      throw InputError(
          {.file = root, .found = "no such folder", .expected = "recordings below it"});
    }
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_regular_file() && entry.path().extension() == ".json") {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<Disagreement> compare_record(std::int64_t step, const json& expected, const json& got,
                                           std::span<const std::string_view> maps) {
  return Comparison(step, maps).values("", "", expected, got);
}

}  // namespace headway::conformance
