// conformance DIR...: replays every recorded schedule below the folders and prints where each
// first disagrees, then "N passed, M failed". Exit codes: 0 all agree, 1 some do not, 2 usage.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tests/conformance/replay.h"

namespace {

using headway::conformance::FileResult;

void print_failure(const FileResult& result) {
  const std::string path = result.path.string();
  if (!result.problem.empty()) {
    std::printf("%s: %s\n", path.c_str(), result.problem.c_str());
    return;
  }
  const auto& d = *result.disagreement;
  std::printf("%s: step %lld: %s: expected %s, got %s\n", path.c_str(),
              static_cast<long long>(d.step), d.field.c_str(), d.expected.c_str(), d.got.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> roots(argv + 1, argv + argc);
  if (roots.empty()) {
    std::fprintf(stderr, "usage: conformance DIR...\n");
    return 2;
  }
  try {
    int passed = 0;
    int failed = 0;
    for (const auto& path : headway::conformance::find_recordings(roots)) {
      const FileResult result = headway::conformance::replay_file(path);
      ++(result.passed() ? passed : failed);
      if (!result.passed()) print_failure(result);
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "conformance: %s\n", error.what());
    return 2;
  }
}
