#include "kernels/providers/shared_library.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace headway::kernels;

namespace {

const LibraryQuery kQuery{
    "Thing", "HEADWAY_THING", {"libthing.so.2", "libthing.so"}, {"nvidia/thing/lib"}};

// Candidates on a machine with these variables, where every pattern matches one path: itself.
std::vector<std::string> candidates(const std::map<std::string, std::string>& environment) {
  return candidate_paths(
      kQuery,
      [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
      },
      [](const std::string& pattern) { return std::vector<std::string>{pattern}; });
}

std::size_t place_of(const std::vector<std::string>& paths, const std::string& part) {
  return static_cast<std::size_t>(
      std::find_if(paths.begin(), paths.end(),
                   [&](const std::string& p) { return p.find(part) != std::string::npos; }) -
      paths.begin());
}

}  // namespace

TEST_CASE("A library is looked for in the loader's path, then toolkits, then Python packages",
          "[unit][kernels]") {
  const std::vector<std::string> paths = candidates(
      {{"CUDA_HOME", "/opt/mycuda"}, {"VIRTUAL_ENV", "/home/me/env"}, {"HOME", "/home/me"}});
  REQUIRE(paths.size() > 10);
  CHECK(paths[0] == "libthing.so.2");
  CHECK(paths[1] == "libthing.so");
  CHECK(paths[2] == "/opt/mycuda/lib64/libthing.so.2");
  const std::size_t toolkit = place_of(paths, "/usr/local/cuda/lib64/libthing.so.2");
  const std::size_t environment =
      place_of(paths, "/home/me/env/lib/python3*/site-packages/nvidia/thing/lib/libthing.so.2");
  const std::size_t user =
      place_of(paths, "/home/me/.local/lib/python3*/site-packages/nvidia/thing/lib");
  const std::size_t debian = place_of(paths, "/usr/lib/python3*/dist-packages/nvidia/thing/lib");
  CHECK(toolkit < environment);
  CHECK(environment < user);
  CHECK(user < debian);
  CHECK(debian < paths.size());
}

TEST_CASE("A library's environment variable decides alone", "[unit][kernels]") {
  CHECK(candidates({{"HEADWAY_THING", "/somewhere/libthing.so.7"}}) ==
        std::vector<std::string>{"/somewhere/libthing.so.7"});
  CHECK(candidates({{"HEADWAY_THING", "/some.so/folder"}}) ==
        std::vector<std::string>{"/some.so/folder/libthing.so.2", "/some.so/folder/libthing.so"});
  CHECK(candidates({{"HEADWAY_THING", ""}})[0] == "libthing.so.2");
}

TEST_CASE("A library is opened, bound and, where it is absent, named", "[unit][kernels]") {
  SharedLibrary math =
      SharedLibrary::open({"the maths library", "HEADWAY_MATHS", {"libm.so.6"}, {}});
  REQUIRE(math.ok());
  CHECK(math.why_not().empty());
  double (*cosine)(double) = nullptr;
  math.bind(cosine, "cos");
  REQUIRE(cosine != nullptr);
  CHECK(cosine(0.0) == 1.0);
  void (*nothing)() = nullptr;
  math.bind(nothing, "no_such_function");
  CHECK_FALSE(math.ok());
  CHECK(math.why_not() == math.path() + " has no symbol no_such_function");

  const SharedLibrary absent = SharedLibrary::open(
      {"Nothing", "HEADWAY_NOTHING", {"libheadway-nothing.so.1"}, {"nvidia/nothing/lib"}});
  CHECK_FALSE(absent.ok());
  CHECK(absent.why_not().find("Nothing was not found") == 0);
  CHECK(absent.why_not().find("libheadway-nothing.so.1") != std::string::npos);
  CHECK(absent.why_not().find("HEADWAY_NOTHING") != std::string::npos);
}
