// Checks every registered kernel against its reference. The same list and the same checks for
// either runtime: built with the emulator it runs them in each thread order and copy mode, built
// with CUDA once, on the GPU (exit code 77 where there is none, which ctest counts as skipped).
//
//   kernel_tests [--way TEXT]... [--seed N] [--verbose] [NAME]...
//
// --way keeps the ways whose name contains TEXT ("warp", "eager"); NAME keeps kernels so named.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/tests/runtime.h"

namespace headway::kernels::tests {
namespace {

constexpr int kSkipped = 77;
constexpr int kUsage = 2;

struct Options {
  std::vector<std::string> ways;
  std::vector<std::string> names;
  std::uint64_t seed = 1;
  bool verbose = false;
};

bool any_in(const std::vector<std::string>& wanted, const std::string& text) {
  if (wanted.empty()) return true;
  for (const std::string& part : wanted) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

std::string title(const KernelEntry& entry) {
  std::string text = entry.name + " [" + entry.impl;
  for (const auto& [key, value] : entry.variant) text += ", " + key + " " + value;
  return text + "]";
}

struct Tally {
  int checks = 0;
  int failed = 0;
  // By kernel and dtype: the worst error over all ways, and the tolerance it was held to.
  std::map<std::string, CheckResult> worst;

  void fail(const Options& options, const Way& way, const KernelEntry& entry,
            const std::string& what) {
    ++failed;
    std::printf("FAILED %s: %s\n  again: kernel_tests --way %s --seed %llu %s\n",
                title(entry).c_str(), what.c_str(), way.name.c_str(),
                static_cast<unsigned long long>(options.seed), entry.name.c_str());
  }
};

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2e", value);
  return buffer;
}

void check_entry(const Options& options, const Way& way, const KernelEntry& entry, Tally& tally) {
  try {
    const std::vector<CheckResult> results = entry.check();
    if (results.empty()) tally.fail(options, way, entry, "its check() compared nothing");
    for (const CheckResult& result : results) {
      ++tally.checks;
      const std::string text = result.what + ": error " + number(result.error) + ", tolerance " +
                               number(result.tolerance);
      if (!result.ok()) tally.fail(options, way, entry, text);
      if (options.verbose) {
        std::printf("%s %s: %s\n", way.name.c_str(), title(entry).c_str(), text.c_str());
      }
      CheckResult& worst = tally.worst[title(entry)];
      if (worst.what.empty() || worst.error < result.error) worst = result;
    }
  } catch (const std::exception& error) {
    tally.fail(options, way, entry, error.what());
  }
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--way" && has_value) {
      options.ways.push_back(argv[++i]);
    } else if (argument == "--seed" && has_value) {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--verbose") {
      options.verbose = true;
    } else if (argument.rfind("-", 0) == 0) {
      std::fprintf(stderr, "kernel_tests [--way TEXT]... [--seed N] [--verbose] [NAME]...\n");
      std::exit(kUsage);
    } else {
      options.names.push_back(argument);
    }
  }
  return options;
}

int run(const Options& options) {
  const std::string missing = missing_device();
  if (!missing.empty()) {
    std::printf("skipped: %s\n", missing.c_str());
    return kSkipped;
  }
  Tally tally;
  const std::vector<KernelEntry> table = gpu_kernels();
  int ways_run = 0;
  for (const Way& way : ways(options.seed)) {
    if (!any_in(options.ways, way.name)) continue;
    ++ways_run;
    way.enter();
    for (const KernelEntry& entry : table) {
      bool named = options.names.empty();
      for (const std::string& name : options.names) named = named || name == entry.name;
      if (named && entry.check) check_entry(options, way, entry, tally);
    }
  }
  for (const auto& [name, result] : tally.worst) {
    std::printf("%-70s worst error %s, tolerance %s (%s)\n", name.c_str(),
                number(result.error).c_str(), number(result.tolerance).c_str(),
                result.what.c_str());
  }
  std::printf("%d checks, %d ways, seed %llu: %d failed\n", tally.checks, ways_run,
              static_cast<unsigned long long>(options.seed), tally.failed);
  if (tally.checks == 0) {
    std::fprintf(stderr, "no kernel or no way of that name\n");
    return kUsage;
  }
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace headway::kernels::tests

int main(int argc, char** argv) {
  // Lines appear as they are printed, also when the last thing a broken kernel does is to crash.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    return headway::kernels::tests::run(headway::kernels::tests::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernel_tests: %s\n", error.what());
    return 1;
  }
}
