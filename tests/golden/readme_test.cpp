// What the README shows of the code is the code.
#include "sim/core/input_file.h"
#include "sim/scheduling/scheduler.h"
#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("golden: the README's scheduler is the file itself, and no policy is left out", "[golden]") {
  const std::string root = HEADWAY_SOURCE_DIR "/";
  const std::string readme = read_whole_file(root + "README.md");
  CHECK_THAT(readme, ContainsSubstring(read_whole_file(root + "sim/scheduling/sjf.cpp")));
  for (const SchedulerEntry& row : scheduler_table()) {
    CHECK_THAT(readme, ContainsSubstring("`" + std::string(row.name) + "`"));
  }
}
