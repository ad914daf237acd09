#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace headway {
namespace {

TEST_CASE("a closed pipe is the user's error, not a signal's death", "[unit]") {
  // The program ignores SIGPIPE (run_cli), so that a write answers EPIPE.
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const std::string path = "/dev/fd/" + std::to_string(ends[1]);
  const auto write_to_closed = [&] {
    OutputFile out(path);
    ::close(ends[0]);
    for (int i = 0; i < 100; ++i) out.write(std::string(10'000, 'x'));
    out.commit();
  };
  CHECK_THROWS_WITH(write_to_closed(), ContainsSubstring("Broken pipe"));
  ::close(ends[1]);
  std::signal(SIGPIPE, before);
}

TEST_CASE("a full disk under a compressed file leaves nothing behind", "[unit]") {
  if (::access("/dev/full", W_OK) != 0) return;
  const test::TempFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "a.csv.gz");
  const auto fill = [&] {
    OutputFile out(folder / "a.csv.gz");
    for (int i = 0; i < 1000; ++i) out.write(std::to_string(i * 7919) + "\n");
    out.commit();
  };
  CHECK_THROWS_AS(fill(), InputError);
  CHECK(folder.entries() == 1);
}

}  // namespace
}  // namespace headway
