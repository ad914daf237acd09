#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway::conformance {

// Where a replay first differs from its recording.
struct Disagreement {
  std::int64_t step = -1;  // -1 = not tied to a step
  std::string field;       // "scheduled[2].num_tokens"
  std::string expected;    // JSON text, as the recording has it
  std::string got;
};

// Replays one recording through the classes that the simulator runs; nothing when all agrees.
// Throws for a recording that cannot be read (a missing key, a setting we do not know).
using ReplayFunction = std::optional<Disagreement> (*)(const nlohmann::json& recording,
                                                       const std::filesystem::path& path);

// One row of the visible table (replay.cpp). A replayer is a leaf: one file, one row.
struct Replayer {
  std::string_view schema_prefix;  // the recording's `schema` starts with it
  ReplayFunction replay;
};
std::span<const Replayer> replayers();

std::optional<Disagreement> replay_metrics(const nlohmann::json&, const std::filesystem::path&);
std::optional<Disagreement> replay_vllm_v1(const nlohmann::json&, const std::filesystem::path&);
std::optional<Disagreement> replay_vllm_v0(const nlohmann::json&, const std::filesystem::path&);
std::optional<Disagreement> replay_sglang(const nlohmann::json&, const std::filesystem::path&);
std::optional<Disagreement> replay_sarathi_repo(const nlohmann::json&,
                                                const std::filesystem::path&);
std::optional<Disagreement> replay_trtllm(const nlohmann::json&, const std::filesystem::path&);

// Decodes of a vLLM V1 recording that its replay planned together (scheduling/decode_set.h).
std::int64_t gathered_decodes_of(const nlohmann::json& recording);

// One file's outcome. `problem` is set when it could not be replayed at all.
struct FileResult {
  std::filesystem::path path;
  std::string schema;
  std::optional<Disagreement> disagreement;
  std::string problem;
  bool passed() const { return !disagreement && problem.empty(); }
};
FileResult replay_file(const std::filesystem::path& path);

// Every *.json below the folders (or the files themselves), sorted by path.
// InputError for a folder that is not there.
std::vector<std::filesystem::path> find_recordings(const std::vector<std::string>& roots);

// Compares a recorded object with what the replay made of it. Every field of the recording counts:
// one that `got` lacks is a disagreement, whereas `got` may know more than a record tells. Objects
// under a name of `maps` (request -> value) must have equal keys in both directions.
std::optional<Disagreement> compare_record(std::int64_t step, const nlohmann::json& expected,
                                           const nlohmann::json& got,
                                           std::span<const std::string_view> maps);

}  // namespace headway::conformance
