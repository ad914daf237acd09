#include "sim/core/input_file.h"

#include <zlib.h>

#include <vector>

#include "sim/core/errors.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace headway {
namespace {

using test::TempFolder;

std::vector<std::string> lines_of(const std::string& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(line)) {
    lines.emplace_back(line);
    CHECK(reader.line_number() == static_cast<std::int64_t>(lines.size()));
  }
  return lines;
}

std::string gzipped(const std::string& text) {
  const TempFolder folder;
  const std::string path = folder / "a.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

using Lines = std::vector<std::string>;

TEST_CASE("lines end at LF or CRLF, and the last needs no end", "[unit]") {
  const TempFolder folder;
  CHECK(lines_of(folder.write("a", "x\ny\r\n\nz")) == Lines{"x", "y", "", "z"});
  CHECK(lines_of(folder.write("b", "x\n")) == Lines{"x"});
  CHECK(lines_of(folder.write("c", "")) == Lines{});
  CHECK(lines_of(folder.write("d", "\n")) == Lines{""});
  CHECK(lines_of(folder.write("e", "a\rb\r\n")) == Lines{"a\rb"});
}

TEST_CASE("a byte order mark is dropped at the beginning only", "[unit]") {
  const TempFolder folder;
  CHECK(lines_of(folder.write("a", "\xEF\xBB\xBFx\n\xEF\xBB\xBFy")) == Lines{"x", "\xEF\xBB\xBFy"});
}

TEST_CASE("lines that cross buffers arrive whole", "[unit]") {
  const TempFolder folder;
  Lines expected;
  std::string text;
  // Lengths around the buffer size (2^18), an end on each side of the boundary, and one far longer.
  for (const std::size_t size : {262143U, 262144U, 262145U, 1U, 262142U, 0U, 1000000U, 3U}) {
    expected.emplace_back(size, static_cast<char>('a' + expected.size()));
    text += expected.back() + (expected.size() % 2 == 0 ? "\r\n" : "\n");
  }
  CHECK(lines_of(folder.write("plain", text)) == expected);
  CHECK(lines_of(folder.write("packed", gzipped(text))) == expected);
}

TEST_CASE("gzip is told by its bytes, not by the name; members may follow each other", "[unit]") {
  const TempFolder folder;
  CHECK(lines_of(folder.write("a.csv", gzipped("x\ny\n"))) == Lines{"x", "y"});
  CHECK(lines_of(folder.write("b.gz", "plain\n")) == Lines{"plain"});
  CHECK(lines_of(folder.write("c.gz", gzipped("x\n") + gzipped("y\n"))) == Lines{"x", "y"});
}

TEST_CASE("a truncated or damaged gzip file is an input error", "[unit]") {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  const std::string whole = gzipped(text);
  for (const std::size_t size :
       {whole.size() / 2, whole.size() - 1, whole.size() - 8, std::size_t{12}}) {
    const std::string path = folder.write("cut.gz", whole.substr(0, size));
    CHECK_THROWS_WITH(lines_of(path), ContainsSubstring(path) && ContainsSubstring("after line") &&
                                          ContainsSubstring("ends too early"));
  }
  std::string damaged = whole;
  damaged[damaged.size() / 2] ^= 0x55;
  CHECK_THROWS_WITH(lines_of(folder.write("bad.gz", damaged)),
                    ContainsSubstring("damaged gzip data") || ContainsSubstring("too early"));
  std::string checksum = whole;
  checksum[checksum.size() - 6] ^= 0x01;
  CHECK_THROWS_WITH(lines_of(folder.write("sum.gz", checksum)), ContainsSubstring("damaged"));
}

TEST_CASE("a missing file and a folder are input errors that name the path", "[unit]") {
  const TempFolder folder;
  CHECK_THROWS_WITH(LineReader(folder / "none.csv"),
                    ContainsSubstring("none.csv") && ContainsSubstring("an existing file"));
  CHECK_THROWS_WITH(LineReader(folder.path()), ContainsSubstring("found a folder"));
}

TEST_CASE("a whole file comes with every line ended", "[unit]") {
  const TempFolder folder;
  CHECK(read_whole_file(folder.write("a", gzipped("x\r\ny"))) == "x\ny\n");
}

}  // namespace
}  // namespace headway
