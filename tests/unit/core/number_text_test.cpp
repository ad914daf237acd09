#include "sim/core/number_text.h"

#include "sim/core/text_table.h"
#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("numbers as texts", "[unit][core]") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1 000");
  CHECK(grouped(13015449600) == "13 015 449 600");
  CHECK(grouped(-1234567) == "-1 234 567");
  CHECK(grouped(-999) == "-999");
  CHECK(fixed(8.02079, 4) == "8.0208");
  CHECK(significant(295.22, 3) == "295");
  CHECK(significant(0.99902, 4) == "0.9990");
  CHECK(significant(1234567, 3) == "1234567");
  CHECK(significant(0, 3) == "0");
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(838860800) == "838.9 MB");
  CHECK(bytes_text(999.96e6) == "1.0 GB");
  CHECK(bytes_text(549.8e9) == "549.8 GB");
  CHECK(time_text(0.0000123) == "12.3 us");
  CHECK(time_text(0.0080208) == "8.02 ms");
  CHECK(time_text(1.5) == "1.50 s");
}

TEST_CASE("words are wrapped between words", "[unit][core]") {
  CHECK(wrapped("one two three", 7) == "one two\nthree\n");
  CHECK(wrapped("unbreakable", 3) == "unbreakable\n");
  CHECK(wrapped("", 10) == "\n");
}
