#include "sim/workload/trace_writer.h"

#include "sim/core/input_file.h"
#include "tests/support/catch.h"
#include "tests/unit/workload/trace_support.h"

namespace headway {
namespace {

void check_same(const std::vector<Request>& a, const std::vector<Request>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    REQUIRE(a[i].id == b[i].id);
    REQUIRE(a[i].arrival == b[i].arrival);
    REQUIRE(a[i].prompt_tokens == b[i].prompt_tokens);
    REQUIRE(a[i].output_tokens == b[i].output_tokens);
    REQUIRE(a[i].max_tokens == b[i].max_tokens);
    REQUIRE(a[i].priority == b[i].priority);
    REQUIRE(a[i].tenant == b[i].tenant);
    REQUIRE(a[i].acceptance_rate == b[i].acceptance_rate);
    REQUIRE(a[i].session_id == b[i].session_id);
    REQUIRE(a[i].think_time == b[i].think_time);
    REQUIRE(a[i].prefix_group == b[i].prefix_group);
    REQUIRE(a[i].prefix_tokens == b[i].prefix_tokens);
    REQUIRE(a[i].content_granularity == b[i].content_granularity);
    REQUIRE(a[i].content_ids == b[i].content_ids);
  }
}

WorkloadOptions trace_at(const std::string& path) {
  WorkloadOptions options;
  options.trace = path;
  return options;
}

// Every optional field in use, times to the nanosecond.
const std::string kFull =
    "arrival_s,input_tokens,output_tokens,session_id,priority,prefix_group,prefix_tokens,tenant,"
    "think_time_s,max_tokens,acceptance_rate,block_ids16\n"
    "0,100,20,5,0,-1,0,0,0,0,0.7,1 2 3\n"
    "0.250000001,64,5,6,1,2,32,3,0,10,,4 5\n"
    "1.5,70,1,5,-1,2,32,3,2.000000007,,0,\n";

TEST_CASE("INV-9: a trace written out and read back gives the same requests", "[unit][trace]") {
  const test::TempFolder folder;
  const std::string name =
      GENERATE(as<std::string>(), "out.csv", "out.csv.gz", "out.jsonl", "out.jsonl.gz");
  CAPTURE(name);
  folder.write("full.csv", kFull);
  std::vector<std::string> notes;
  CHECK(convert_trace(trace_at(folder / "full.csv"), "", folder / name, "", notes) == 3);
  check_same(test::read_all(trace_at(folder / "full.csv")).requests,
             test::read_all(trace_at(folder / name)).requests);
  CHECK(notes.empty());
}

TEST_CASE("INV-9: the catalogue's traces survive a conversion to either form", "[unit][trace]") {
  const test::TempFolder folder;
  const std::string name = GENERATE(as<std::string>(), "azure-2023-code", "mooncake-synthetic",
                                    "sharegpt-llama-3.1-8b-300");
  WorkloadOptions options = trace_at(name);
  options.limit = 1000;
  const auto before = test::read_all(options).requests;
  std::vector<std::string> notes;
  for (const char* out : {"t.csv", "t.jsonl"}) {
    convert_trace(options, "", folder / out, "", notes);
    check_same(before, test::read_all(trace_at(folder / out)).requests);
  }
}

TEST_CASE("the two forms as they are written", "[unit][trace]") {
  const test::TempFolder folder;
  folder.write("a.csv", "arrival_s,input_tokens,output_tokens\n1,5,6\n1.0250,7,8\n");
  std::vector<std::string> notes;
  convert_trace(trace_at("a.csv"), folder.path(), folder / "out", "csv", notes);
  CHECK(read_whole_file(folder / "out") ==
        "arrival_s,input_tokens,output_tokens\n0,5,6\n0.025,7,8\n");
  convert_trace(trace_at("a.csv"), folder.path(), folder / "out", "mooncake", notes);
  CHECK(read_whole_file(folder / "out") ==
        "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 6}\n"
        "{\"timestamp\": 25, \"input_length\": 7, \"output_length\": 8}\n");
}

TEST_CASE("a conversion that fails leaves no file", "[unit][trace]") {
  const test::TempFolder folder;
  folder.write("bad.csv", "arrival_s,input_tokens,output_tokens\n1,5,6\n2,x,8\n");
  std::vector<std::string> notes;
  CHECK_THROWS_AS(convert_trace(trace_at(folder / "bad.csv"), "", folder / "o.csv", "", notes),
                  InputError);
  CHECK_THROWS_AS(convert_trace(trace_at(folder / "bad.csv"), "", folder / "o", "xml", notes),
                  InputError);
  folder.write("ids.jsonl",
               R"({"arrival_time_ns":0,"input_toks":1,"output_toks":1,"input_tok_ids":[4]})");
  CHECK_THROWS_WITH(convert_trace(trace_at(folder / "ids.jsonl"), "", folder / "o.csv", "", notes),
                    ContainsSubstring("ids of single tokens"));
  CHECK(folder.entries() == 2);
}

TEST_CASE("another block size of hash ids is said", "[unit][trace]") {
  const test::TempFolder folder;
  folder.write("m.jsonl",
               R"({"timestamp":0,"input_length":100,"output_length":1,"hash_ids":[4,5]})");
  WorkloadOptions options = trace_at(folder / "m.jsonl");
  options.hash_block_size = 64;
  std::vector<std::string> notes;
  convert_trace(options, "", folder / "o.jsonl", "", notes);
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], ContainsSubstring("hash_block_size 64"));
}

}  // namespace
}  // namespace headway
