// The recordings whose engines Headway follows so far, all of them, through the tool's own code.
#include <algorithm>
#include <string>

#include "tests/conformance/replay.h"
#include "tests/support/catch.h"

using namespace headway::conformance;

namespace {

bool supported(const std::string& schema) {
  return std::any_of(replayers().begin(), replayers().end(), [&](const Replayer& row) {
    return schema.starts_with(row.schema_prefix);
  });
}

}  // namespace

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
  REQUIRE(replayed >= 47);  // 34 of vLLM V1 0.16.0, 7 of its main branch, 6 of Orca and kin
}
