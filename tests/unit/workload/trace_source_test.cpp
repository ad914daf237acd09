#include "sim/workload/trace_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "sim/core/random.h"
#include "tests/support/catch.h"
#include "tests/unit/workload/trace_support.h"

namespace headway {
namespace {

using test::read_text;

const std::string kHeader = "arrival_s,input_tokens,output_tokens\n";

std::vector<std::int32_t> prompts(const test::Trace& trace) {
  std::vector<std::int32_t> result;
  for (const Request& r : trace.requests) result.push_back(r.prompt_tokens);
  return result;
}
using Prompts = std::vector<std::int32_t>;

TEST_CASE("rows out of order are sorted, ties as in the file, with a note", "[unit][trace]") {
  const auto trace = read_text("a.csv", kHeader + "5,1,1\n3,2,1\n9,3,1\n3,4,1\n4,5,1\n9,6,1\n");
  CHECK(prompts(trace) == Prompts{2, 4, 5, 1, 3, 6});
  CHECK(trace.requests[0].arrival == SimTime());
  CHECK(trace.requests[5].arrival == SimTime::from_seconds(6));
  for (std::size_t i = 0; i < 6; ++i) CHECK(trace.requests[i].id == i);
  REQUIRE(trace.notes.size() == 1);
  CHECK_THAT(trace.notes[0], ContainsSubstring("3 rows out of order, sorted by arrival"));
}

TEST_CASE("any disorder is sorted as a stable sort would", "[unit][trace]") {
  RandomStream random(1, "disorder");
  const auto lateness = GENERATE(0.0, 0.01, 3.0, 1000.0);
  std::string text = kHeader;
  std::vector<std::pair<std::int64_t, std::int32_t>> expected;
  for (std::int32_t i = 0; i < 2000; ++i) {
    // Hundredths of a second, so that ties occur.
    const auto at = std::max<std::int64_t>(
        0, i + static_cast<std::int64_t>(random.uniform() * -100 * lateness));
    expected.emplace_back(at, i + 1);
    text += std::to_string(at / 100) + "." + (at % 100 < 10 ? "0" : "") + std::to_string(at % 100) +
            "," + std::to_string(i + 1) + ",1\n";
  }
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto trace = read_text("a.csv", text);
  REQUIRE(trace.requests.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(trace.requests[i].prompt_tokens == expected[i].second);
    REQUIRE(trace.requests[i].arrival.ns() == (expected[i].first - expected[0].first) * 10'000'000);
  }
}

TEST_CASE("offset leaves out the first seconds; the next request is at 0", "[unit][trace]") {
  WorkloadOptions options;
  options.offset_s = 5;
  const auto trace =
      read_text("a.csv", kHeader + "100,1,1\n104.9,2,1\n105,3,1\n107,4,1\n", options);
  CHECK(prompts(trace) == Prompts{3, 4});
  CHECK(trace.requests[0].id == 0);
  CHECK(trace.requests[0].arrival == SimTime());
  CHECK(trace.requests[1].arrival == SimTime::from_seconds(2));
}

TEST_CASE("limit counts requests after the offset, failed ones apart", "[unit][trace]") {
  WorkloadOptions options;
  options.offset_s = 1;
  options.limit = 2;
  const auto trace = read_text("a.csv", kHeader + "0,1,1\n1,2,1\n2,3,0\n3,4,1\n4,5,1\n", options);
  CHECK(prompts(trace) == Prompts{2, 4});
}

TEST_CASE("rate_scale divides the gaps, not the think times", "[unit][trace]") {
  WorkloadOptions options;
  options.rate_scale = 4;
  const auto trace = read_text("a.csv",
                               "arrival_s,input_tokens,output_tokens,session_id,think_time_s\n"
                               "10,1,1,0,0\n12,2,1,0,3\n13,3,1,0,3\n",
                               options);
  CHECK(trace.requests[1].arrival == SimTime::from_seconds(0.5));
  CHECK(trace.requests[2].arrival == SimTime::from_seconds(0.75));
  CHECK(trace.requests[2].think_time == SimTime::from_seconds(3));
}

TEST_CASE("the number of requests is known before they are read", "[unit][trace]") {
  const test::TempFolder folder;
  const std::string path = folder.write("a.csv", kHeader + "0,1,1\n1,2,0\n2,3,1\n3,4,1\n");
  WorkloadOptions options;
  std::vector<std::string> notes;
  CHECK(open_trace(path, options, notes)->size_hint() == 3);
  options.limit = 2;
  CHECK(open_trace(path, options, notes)->size_hint() == 2);
}

TEST_CASE("a pipe, which cannot be read twice, reads the same", "[unit][trace]") {
  const test::TempFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(pipe) << kHeader << "5,1,1\n3,2,1\n4,3,1\n"; });
  WorkloadOptions options;
  options.trace = pipe;
  const auto trace = test::read_all(options);
  writer.join();
  CHECK(prompts(trace) == Prompts{2, 3, 1});
}

TEST_CASE("a trace is a path first, then a name of the catalogue", "[unit][trace]") {
  const test::TempFolder folder;
  CHECK_THAT(find_trace("azure-2023-conv", folder.path()),
             ContainsSubstring("traces/azure-2023-conv.csv.gz"));
  CHECK_THAT(find_trace("mooncake-conversation", ""),
             ContainsSubstring("traces/mooncake-conversation.jsonl.gz"));
  folder.write("azure-2023-conv", "");
  CHECK(find_trace("azure-2023-conv", folder.path()) == folder / "azure-2023-conv");
  CHECK(find_trace("-", folder.path()) == "-");
  CHECK(find_trace(folder / "azure-2023-conv", "/nowhere") == folder / "azure-2023-conv");
}

}  // namespace
}  // namespace headway
