// docs/lecture.md shows what the program prints, and every demo is on it. When outputs are meant to
// change, tests/golden/update_lecture.sh writes the page anew.
#include <sstream>

#include "sim/core/input_file.h"
#include "sim/study/demo.h"
#include "tests/support/catch.h"
#include "tests/support/run_program.h"

using namespace headway;

namespace {

struct Block {
  std::string command, output;
};

// Of the fenced blocks that begin with "$ headway ...".
std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> blocks;
  std::istringstream lines(page);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "```") inside = false;
    if (inside) blocks.back().output += line + "\n";
    if (line.starts_with("$ headway ")) {
      blocks.push_back({line.substr(10), ""});
      inside = true;
    }
  }
  return blocks;
}

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream in(command);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

TEST_CASE("golden: the lecture's page shows what its commands print", "[golden]") {
  const std::string page = read_whole_file(HEADWAY_SOURCE_DIR "/docs/lecture.md");
  const std::vector<Block> blocks = blocks_of(page);
  for (const Block& block : blocks) {
    INFO(block.command);
    const test::ProgramResult result = test::run_program(words_of(block.command));
    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());
    CHECK(result.out == block.output);
  }
  const test::TempFolder folder;
  const test::ProgramResult drawn =
      test::run_program({"roofline", "--model", "llama-2-13b", "--gpu", "h100-sxm", "--set",
                         "gpu.memory_bytes=80e9", "--svg", folder / "roofline.svg"});
  CHECK(drawn.exit_code == 0);
  CHECK(test::read_text(folder / "roofline.svg") ==
        read_whole_file(HEADWAY_SOURCE_DIR "/docs/roofline.svg"));
  for (const DemoEntry& demo : demo_table()) {
    CHECK_THAT(page, ContainsSubstring("$ headway demo " + std::string(demo.name) + "\n"));
  }
  CHECK_THAT(read_whole_file(HEADWAY_SOURCE_DIR "/README.md"),
             ContainsSubstring("docs/lecture.md"));
}
