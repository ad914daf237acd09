#include "sim/core/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "tests/support/catch.h"

namespace headway {
namespace {

namespace fs = std::filesystem;

struct TemporaryFolder {
  fs::path path = fs::temp_directory_path() / ("headway-output-" + std::to_string(::getpid()));
  TemporaryFolder() { fs::create_directories(path); }
  ~TemporaryFolder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), {}));
  }
};

TEST_CASE("an output file appears whole on commit and not at all without it", "[unit]") {
  const TemporaryFolder folder;
  {
    OutputFile out(folder.file("dropped.txt"));
    out.write("half");
  }
  CHECK(folder.entries() == 0);
  {
    OutputFile out(folder.file("kept.txt"));
    out.write("one ");
    CHECK_FALSE(fs::exists(folder.file("kept.txt")));
    out.write("two\n");
    out.commit();
  }
  CHECK(read_whole_file(folder.file("kept.txt")) == "one two\n");
  CHECK(folder.entries() == 1);
}

TEST_CASE("an uncommitted rewrite leaves the old file as it was", "[unit]") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("a.txt")) << "old\n";
  {
    OutputFile out(folder.file("a.txt"));
    out.write("new\n");
  }
  CHECK(read_whole_file(folder.file("a.txt")) == "old\n");
}

TEST_CASE("a .gz name is compressed", "[unit]") {
  const TemporaryFolder folder;
  OutputFile out(folder.file("a.csv.gz"));
  for (int i = 0; i < 1000; ++i) out.write("the same line\n");
  out.commit();
  CHECK(fs::file_size(folder.file("a.csv.gz")) < 1000);
  CHECK(read_whole_file(folder.file("a.csv.gz")).size() == 14000);
}

TEST_CASE("a link's target is replaced and the link stays", "[unit]") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("target.txt")) << "old\n";
  fs::create_symlink(folder.file("target.txt"), folder.file("link.txt"));
  OutputFile out(folder.file("link.txt"));
  out.write("new\n");
  out.commit();
  CHECK(fs::is_symlink(folder.file("link.txt")));
  CHECK(read_whole_file(folder.file("target.txt")) == "new\n");
}

TEST_CASE("a full disk is the user's error, and the device survives", "[unit]") {
  if (!fs::exists("/dev/full")) return;
  const auto fill = [] {
    OutputFile out("/dev/full");
    for (int i = 0; i < 10; ++i) out.write(std::string(100'000, 'x'));
    out.commit();
  };
  CHECK_THROWS_WITH(fill(), ContainsSubstring("/dev/full") && ContainsSubstring("No space left"));
  const auto trickle = [] {  // fits the buffer: noticed at the latest by commit
    OutputFile out("/dev/full");
    out.write("x");
    out.commit();
  };
  CHECK_THROWS_AS(trickle(), InputError);
  struct stat status {};
  REQUIRE(::stat("/dev/full", &status) == 0);
  CHECK(S_ISCHR(status.st_mode));
}

TEST_CASE("an unwritable place is the user's error", "[unit]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(OutputFile(folder.file("no/such/folder/a.txt")), InputError);
  CHECK_THROWS_AS(OutputFile(folder.file("no/such/folder/a.gz")), InputError);
  const auto onto_folder = [&] {
    OutputFile out(folder.path.string());
    out.write("x");
    out.commit();
  };
  CHECK_THROWS_AS(onto_folder(), InputError);
}

}  // namespace
}  // namespace headway
