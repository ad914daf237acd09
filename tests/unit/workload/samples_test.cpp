// Samples and beams of a request: trace columns and scenario keys.
#include "sim/core/input_file.h"
#include "sim/workload/trace_writer.h"
#include "tests/support/catch.h"
#include "tests/unit/workload/trace_support.h"

namespace headway {
namespace {

using test::read_text;

const std::string kTrace =
    "arrival_s,input_tokens,output_tokens,samples,beam_width\n"
    "0,10,5,,\n"
    "1,10,5,4,\n"
    "2,10,5,,3\n"
    "3,10,5,1,0\n";

TEST_CASE("a trace may say how many samples or beams", "[unit][workload]") {
  const auto requests = read_text("t.csv", kTrace).requests;
  REQUIRE(requests.size() == 4);
  const std::vector<std::int32_t> samples = {1, 4, 1, 1}, beams = {0, 0, 3, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(requests[i].samples == samples[i]);
    REQUIRE(requests[i].beam_width == beams[i]);
  }
}

TEST_CASE("the workload's samples and beams go before the trace's", "[unit][workload]") {
  WorkloadOptions options;
  options.samples = 2;
  for (const Request& r : read_text("t.csv", kTrace, options).requests) {
    REQUIRE(r.samples == 2);
    REQUIRE(r.beam_width == 0);
  }
  WorkloadOptions generated;
  generated.num_prompts = 3;
  generated.request_rate = 1;
  generated.input_len.value = generated.output_len.value = 8;
  generated.beam_width = 5;
  for (const Request& r : test::read_all(generated).requests) {
    REQUIRE(r.samples == 1);
    REQUIRE(r.beam_width == 5);
  }
  generated.samples = 2;
  REQUIRE_THROWS_WITH(test::read_all(generated),
                      ContainsSubstring("workload.beam_width") && ContainsSubstring("not both"));
}

TEST_CASE("a row that is no count of samples is refused", "[unit][workload]") {
  const std::string head = "arrival_s,input_tokens,output_tokens,samples,beam_width\n0,10,5,";
  REQUIRE(test::error_of("t.csv", head + "0,\n").expected ==
          "a whole number of samples from 1 to 1024");
  REQUIRE(test::error_of("t.csv", head + ",2000\n").place == "line 2, column beam_width");
  const auto both = test::error_of("t.csv", head + "2,2\n");
  REQUIRE(both.place == "line 2");
  REQUIRE(both.found == "2 samples of a search of 2 beams");
}

TEST_CASE("samples and beams survive a conversion", "[unit][workload]") {
  const test::TempFolder folder;
  folder.write("in.csv", kTrace);
  for (const char* name : {"out.csv", "out.jsonl"}) {
    WorkloadOptions options;
    options.trace = "in.csv";
    std::vector<std::string> notes;
    convert_trace(options, folder.path(), folder / name, "", notes);
    options.trace = name;
    const auto requests = test::read_all(options, folder.path()).requests;
    REQUIRE(requests.size() == 4);
    REQUIRE(requests[1].samples == 4);
    REQUIRE(requests[2].beam_width == 3);
    REQUIRE(requests[3].samples == 1);
  }
}

}  // namespace
}  // namespace headway
