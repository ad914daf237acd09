#include "sim/cli/helper_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/core/errors.h"
#include "tests/support/catch.h"

namespace headway {
namespace {

TEST_CASE("a helper program that is not there is the user's to build", "[unit]") {
  try {
    become_helper("headway-no-such-helper", {});
  } catch (const InputError& error) {
    const std::string text = error.what();
    CHECK(text.find("headway-no-such-helper") != std::string::npos);
    CHECK(text.find("kernels/") != std::string::npos);
  }
}

TEST_CASE("a helper takes this process's place, arguments and exit code", "[unit]") {
  const std::string path = helper_path("helper-of-this-test");
  {
    std::ofstream script(path);
    script << "#!/bin/sh\ntest \"$1\" = 'two words' || exit 1\ntest $# = 2 || exit 1\nexit 23\n";
  }
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const pid_t child = fork();
  if (child == 0) {
    try {
      become_helper("helper-of-this-test", {"two words", "--flag"});
    } catch (...) {
      _exit(99);
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 23);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace headway
