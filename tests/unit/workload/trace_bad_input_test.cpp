#include "tests/support/catch.h"
#include "tests/unit/workload/trace_support.h"

namespace headway {
namespace {

using test::error_of;

const std::string kHeader = "arrival_s,input_tokens,output_tokens\n";

struct BadRow {
  const char* row;
  const char* place;
  const char* found;
  const char* expected;
};

TEST_CASE("a bad field of a CSV is named by line, column, found and expected", "[unit][trace]") {
  const auto row = GENERATE(values<BadRow>({
      {"0,-5,1", "line 3, column input_tokens", "\"-5\"", "from 0 to 16777216"},
      {"0,5,-1", "line 3, column output_tokens", "\"-1\"", "from 0 to 16777216"},
      {"0,NaN,1", "line 3, column input_tokens", "\"NaN\"", "a whole number of tokens"},
      {"nan,5,1", "line 3, column arrival_s", "\"nan\"", "seconds"},
      {"inf,5,1", "line 3, column arrival_s", "\"inf\"", "seconds"},
      {"-1,5,1", "line 3, column arrival_s", "\"-1\"", "zero or more"},
      {"1e99,5,1", "line 3, column arrival_s", "\"1e99\"", "seconds"},
      {"0,0,1", "line 3", "\"0 prompt tokens\"", "at least 1"},
      {"0,1000000000000,1", "line 3, column input_tokens", "\"1000000000000\"", "16777216"},
      {"0,99999999999999999999999,1", "line 3, column input_tokens", "99999", "16777216"},
      {"0,5,1000000000000", "line 3, column output_tokens", "\"1000000000000\"", "16777216"},
      {"0,1.5,1", "line 3, column input_tokens", "\"1.5\"", "a whole number"},
      {"0,abc,1", "line 3, column input_tokens", "\"abc\"", "a whole number"},
      {"0,,1", "line 3, column input_tokens", "\"\"", "a whole number"},
      {"0,5", "line 3", "2 fields", "3, as in the header"},
      {"0,5,1,9", "line 3", "4 fields", "3, as in the header"},
      {"0,\"5,1", "line 3", "\"0,\"5,1\"", "a quoted field that ends"},
      {"0,\"5\"x,1", "line 3", "5", "a quoted field that ends"},
      {"0,5 1,1", "line 3, column input_tokens", "\"5 1\"", "a whole number"},
  }));
  CAPTURE(row.row);
  const auto parts = error_of("a.csv", kHeader + "0,1,1\n" + row.row + "\n0,1,1\n");
  CHECK(parts.file == "a.csv");
  CHECK(parts.place == row.place);
  CHECK_THAT(parts.found, ContainsSubstring(row.found));
  CHECK_THAT(parts.expected, ContainsSubstring(row.expected));
}

TEST_CASE("bad optional fields are not passed over", "[unit][trace]") {
  struct Case {
    const char* column;
    const char* value;
  };
  const auto c = GENERATE(values<Case>({{"priority", "high"},
                                        {"priority", "3000000000"},
                                        {"tenant", "-1"},
                                        {"think_time_s", "-2"},
                                        {"think_time_s", "1e9"},
                                        {"max_tokens", "-1"},
                                        {"prefix_group", "-2"},
                                        {"prefix_tokens", "x"},
                                        {"acceptance_rate", "1.5"},
                                        {"acceptance_rate", "nan"},
                                        {"block_ids16", "1 -2"},
                                        {"hash_ids", "1,2"},
                                        {"hash_ids", "7x"}}));
  CAPTURE(c.column, c.value);
  const auto parts = error_of("a.csv", std::string("arrival_s,input_tokens,output_tokens,") +
                                           c.column + "\n0,100,1,\"" + c.value + "\"\n");
  CHECK(parts.place == std::string("line 2, column ") + c.column);
}

TEST_CASE("what does not fit the prompt is refused", "[unit][trace]") {
  CHECK(
      error_of("a.csv", "arrival_s,input_tokens,output_tokens,prefix_tokens\n0,10,1,11\n").found ==
      "\"11 prefix tokens\"");
  CHECK(
      error_of("a.csv", "arrival_s,input_tokens,output_tokens,block_ids16\n0,32,1,1 2 3\n").found ==
      "\"3 block ids\"");
}

TEST_CASE("a missing column is named, with the one that may be meant", "[unit][trace]") {
  auto parts = error_of("a.csv", "arrival_s,input_token,output_tokens\n0,1,1\n");
  CHECK(parts.place == "line 1");
  CHECK_THAT(parts.expected, ContainsSubstring("a column input_tokens (is input_token meant"));
  parts = error_of("a.csv", "TIMESTAMP,ContextTokens\n");
  CHECK_THAT(parts.expected, ContainsSubstring("a column GeneratedTokens"));
  parts = error_of("a.csv", "arrival_s,input_tokens,output_tokens,arrival_s\n");
  CHECK_THAT(parts.found, ContainsSubstring("column arrival_s twice"));
}

TEST_CASE("a file that no format fits is met with what would", "[unit][trace]") {
  auto parts = error_of("a.csv", "1,2,3\n4,5,6\n");
  CHECK(parts.found == "\"1,2,3\"");
  CHECK_THAT(parts.expected, ContainsSubstring("TIMESTAMP") && ContainsSubstring("input_lens"));
  CHECK(error_of("a.csv", "").found == "an empty file");
  CHECK(error_of("a.csv", "\n\r\n").found == "an empty file");
  CHECK(error_of("a.bin", std::string("\0\1\2\3", 4)).place == "line 1");
}

TEST_CASE("an unknown format names the nearest", "[unit][trace]") {
  WorkloadOptions options;
  options.format = "azur";
  const auto parts = error_of("a.csv", kHeader, options);
  CHECK(parts.place == "workload.format");
  CHECK_THAT(parts.expected, ContainsSubstring("did you mean azure?"));
}

TEST_CASE("a format named for another's file says which column it misses", "[unit][trace]") {
  WorkloadOptions options;
  options.format = "azure";
  CHECK_THAT(error_of("a.csv", kHeader + "0,1,1\n", options).expected,
             ContainsSubstring("a column TIMESTAMP"));
  options.format = "mooncake";
  CHECK(error_of("a.csv", kHeader + "0,1,1\n", options).place == "line 1, byte 1");
}

TEST_CASE("bad timestamps are named", "[unit][trace]") {
  const auto parts =
      error_of("a.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n16.11.2023 18:15,374,44\n");
  CHECK(parts.place == "line 2, column TIMESTAMP");
  CHECK(parts.found == "\"16.11.2023 18:15\"");
}

TEST_CASE("bad JSON rows are named by line, key or byte", "[unit][trace]") {
  const std::string good = R"({"timestamp": 0, "input_length": 9, "output_length": 2})"
                           "\n";
  const auto row = GENERATE(values<BadRow>({
      {R"({"timestamp": 0, "input_length": 9, "output_len)", "line 2, byte 48", "not JSON",
       "object"},
      {R"({"timestamp": 0, "input_length": 9})", "line 2", "without \"output_length\"",
       "every row"},
      {R"({"timestamp": 0, "input_length": -9, "output_length": 2})", "line 2, column input_length",
       "\"-9\"", "from 0 to"},
      {R"({"timestamp": 0, "input_length": 0, "output_length": 2})", "line 2", "0 prompt tokens",
       "1"},
      {R"({"timestamp": 0, "input_length": 1000000000000, "output_length": 2})",
       "line 2, column input_length", "1000000000000", "16777216"},
      {R"({"timestamp": 0, "input_length": "9", "output_length": 2})",
       "line 2, column input_length", "9", "a number"},
      {R"({"timestamp": 0, "input_length": [9], "output_length": 2})",
       "line 2, column input_length", "a list", "a number"},
      {R"({"timestamp": NaN, "input_length": 9, "output_length": 2})", "line 2, byte 15",
       "not JSON", "object"},
      {R"({"timestamp": 0, "input_length": 9, "output_length": 2, "hash_ids": 4})",
       "line 2, column hash_ids", "4", "a list of ids"},
      {R"({"timestamp": 0, "input_length": 9, "output_length": 2, "hash_ids": [-4]})",
       "line 2, column hash_ids", "-4", "an id"},
      {R"({"timestamp": 0, "input_length": 9, "output_length": 2, "hash_ids": [[4]]})",
       "line 2, column hash_ids", "a list", "an id"},
      {R"({"timestamp": 0, "input_length": 9, "output_length": 2, "hash_ids": [1, 2]})", "line 2",
       "2 block ids", "at most 1"},
      {R"({"input_length": 9, "output_length": 2})", "line 2", "a row without a time", "one"},
      {R"([1, 2])", "line 2", "[", "one JSON object a line"},
      {R"(17)", "line 2", "17", "one JSON object a line"},
      {R"({"timestamp": 0, "input_length": 9, "output_length": 2} x)", "line 2, byte 57",
       "not JSON", "object"},
  }));
  CAPTURE(row.row);
  const auto parts = error_of("m.jsonl", good + row.row + "\n" + good);
  CHECK(parts.file == "m.jsonl");
  CHECK(parts.place == row.place);
  CHECK_THAT(parts.found, ContainsSubstring(row.found));
  CHECK_THAT(parts.expected, ContainsSubstring(row.expected));
}

TEST_CASE("bad benchmark results are named", "[unit][trace]") {
  CHECK_THAT(error_of("r.json", R"({"input_lens": [1, 2], "duration": 3})").found,
             ContainsSubstring("output_lens"));
  CHECK_THAT(error_of("r.json", R"({"input_lens": [1, 2)").place, ContainsSubstring("byte"));
  CHECK_THAT(
      error_of("r.json", R"({"input_lens": [1, 2], "output_lens": [1], "start_times": [0, 1]})")
          .expected,
      ContainsSubstring("lists of one length"));
  CHECK_THAT(
      error_of("r.json", R"({"input_lens": ["x"], "output_lens": [1], "start_times": [0]})").place,
      ContainsSubstring("input_lens[0]"));
}

TEST_CASE("a truncated gz, a folder and a missing file are named", "[unit][trace]") {
  const test::TempFolder folder;
  folder.write("sub/a", "");
  WorkloadOptions options;
  options.trace = "sub";
  CHECK_THROWS_WITH(test::read_all(options, folder.path()), ContainsSubstring("found a folder"));
  options.trace = "azure-2023-convo";
  CHECK_THROWS_WITH(test::read_all(options, folder.path()),
                    ContainsSubstring("azure-2023-convo: found neither a file nor a trace") &&
                        ContainsSubstring("did you mean azure-2023-conv?"));
  std::ifstream whole(HEADWAY_SOURCE_DIR "/traces/azure-2023-code.csv.gz", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  REQUIRE(bytes.size() > 10000);
  CHECK_THAT(error_of("cut.csv.gz", bytes.substr(0, bytes.size() / 2)).found,
             ContainsSubstring("ends too early"));
}

TEST_CASE("no request left is an error", "[unit][trace]") {
  CHECK(error_of("a.csv", kHeader).found == "no request");
  CHECK(error_of("a.csv", kHeader + "0,5,0\n").found == "no request");
  WorkloadOptions late;
  late.offset_s = 100;
  CHECK_THAT(error_of("a.csv", kHeader + "0,5,1\n99,5,1\n", late).found,
             ContainsSubstring("no request of 2 after the first 100"));
}

TEST_CASE("options without meaning are refused", "[unit][trace]") {
  WorkloadOptions options;
  options.rate_scale = 0;
  CHECK(error_of("a.csv", kHeader, options).place == "workload.rate_scale");
  options = {};
  options.offset_s = -1;
  CHECK(error_of("a.csv", kHeader, options).place == "workload.offset");
  options = {};
  options.limit = -1;
  CHECK(error_of("a.csv", kHeader, options).place == "workload.limit");
  options = {};
  options.failed_rows = "ignore";
  CHECK(error_of("a.csv", kHeader, options).place == "workload.failed_rows");
  options = {};
  options.max_concurrency = -1;
  CHECK(error_of("a.csv", kHeader, options).place == "workload.max_concurrency");
  options = {};
  options.rate_scale = 1e-9;
  CHECK(error_of("a.csv", kHeader + "0,1,1\n1000,1,1\n", options).place == "workload.rate_scale");
}

}  // namespace
}  // namespace headway
