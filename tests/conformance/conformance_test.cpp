// The recordings whose engines Headway follows so far, all of them, through the tool's own code.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/conformance/replay.h"
#include "tests/support/catch.h"

using namespace headway::conformance;

namespace {

bool supported(const std::string& schema) {
  return std::any_of(replayers().begin(), replayers().end(),
                     [&](const Replayer& row) { return schema.starts_with(row.schema_prefix); });
}

// Changes one recorded value after the other and expects each change to be noticed.
class LeafCheck {
 public:
  LeafCheck(ReplayFunction replay, const std::string& file) : replay_(replay) {
    std::ifstream in(HEADWAY_SOURCE_DIR "/tests/conformance/recordings/" + file);
    recording_ = nlohmann::json::parse(in);
  }

  int run() {
    REQUIRE_FALSE(replay_(recording_, {}).has_value());
    for (auto& step : recording_["steps"]) {
      for (auto& [key, value] : step.items()) {
        if (key != "step" && key != "arrivals") expect_checked(value, step["step"]);  // inputs
      }
    }
    return leaves_;
  }

 private:
  void expect_checked(nlohmann::json& node, std::int64_t step) {
    if (node.is_structured()) {
      for (auto& child : node) expect_checked(child, step);
      return;
    }
    const nlohmann::json kept = node;
    if (kept.is_number()) node = kept.get<std::int64_t>() + 1;
    if (kept.is_string()) node = kept.get<std::string>() + "?";
    if (kept.is_boolean()) node = !kept.get<bool>();
    if (kept.is_null()) node = "?";
    const auto found = replay_(recording_, {});
    node = kept;
    ++leaves_;
    REQUIRE(found.has_value());
    REQUIRE(found->step == step);
  }

  ReplayFunction replay_;
  nlohmann::json recording_;
  int leaves_ = 0;
};

}  // namespace

TEST_CASE("a recording that differs in any one value of any step is noticed", "[conformance]") {
  CHECK(LeafCheck(replay_vllm_v1, "vllm/v0.16.0/s26_async_preempt_inflight.json").run() > 300);
  CHECK(LeafCheck(replay_sglang, "sglang/v0.5.5.post3/g05_retract_decode.json").run() > 500);
}

TEST_CASE("a file that is no recording is a failure with its reason", "[conformance]") {
  const FileResult result = replay_file(HEADWAY_SOURCE_DIR "/CMakeLists.txt");
  REQUIRE_FALSE(result.passed());
  REQUIRE_FALSE(result.problem.empty());
}

TEST_CASE("every recorded schedule of a supported engine is reproduced field by field",
          "[conformance]") {
  const std::string folder = HEADWAY_SOURCE_DIR "/tests/conformance/recordings";
  int replayed = 0;
  for (const auto& path : find_recordings({folder})) {
    const FileResult result = replay_file(path);
    if (!supported(result.schema)) continue;
    ++replayed;
    INFO(path.string());
    CHECK(result.problem == "");
    if (result.disagreement) {
      const Disagreement& d = *result.disagreement;
      FAIL_CHECK("step " << d.step << ", " << d.field << ": expected " << d.expected << ", got "
                         << d.got);
    }
  }
  // vLLM V1: 34 and 7; V0: 9; SGLang: 15; sarathi-serve: 6; TensorRT-LLM: 10; metrics: 1
  REQUIRE(replayed >= 82);
}

TEST_CASE("INV-8: the replay of vLLM V1's recordings gathers decodes wherever nothing speculates",
          "[conformance]") {
  const std::string folder = HEADWAY_SOURCE_DIR "/tests/conformance/recordings/vllm";
  int with_decodes = 0;
  std::int64_t decodes = 0;
  for (const auto& path : find_recordings({folder})) {
    std::ifstream in(path);
    const auto recording = nlohmann::json::parse(in);
    if (recording.value("schema", "").find("vllm-v1") == std::string::npos) continue;
    const std::int64_t here = gathered_decodes_of(recording);
    if (recording["config"]["num_speculative_tokens"] > 0) CHECK(here == 0);
    with_decodes += here > 0 ? 1 : 0;
    decodes += here;
  }
  WARN(with_decodes << " recordings, " << decodes << " decodes");
  CHECK(with_decodes >= 20);
}
