#include "sim/workload/trace_format.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "sim/core/errors.h"
#include "tests/support/catch.h"
#include "tests/unit/workload/trace_support.h"

// One suite over every row of the format table. A format's sample is its seed of the fuzz test.
namespace headway {
namespace {

std::string sample_of(const TraceFormat& format) {
  for (const char* end : {".csv", ".jsonl", ".json"}) {
    const std::string path =
        std::string(HEADWAY_SOURCE_DIR "/tests/fuzz/seeds/traces/") + format.name + end;
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

test::Trace read(const std::string& path, const std::string& format) {
  WorkloadOptions options;
  options.trace = path;
  options.format = format;
  return test::read_all(options);
}

TEST_CASE("every trace format has a name, a help line and a sample of its own", "[contract]") {
  std::set<std::string> names = {"auto"};
  for (const TraceFormat& format : trace_formats()) {
    CAPTURE(format.name);
    CHECK(names.insert(format.name).second);
    CHECK(std::string(format.help).size() > 20);
    CHECK_FALSE(sample_of(format).empty());
  }
}

TEST_CASE("a sample is recognised by its own format and by no other", "[contract]") {
  for (const TraceFormat& format : trace_formats()) {
    const TraceText text(sample_of(format));
    for (const TraceFormat& other : trace_formats()) {
      CAPTURE(format.name, other.name);
      CHECK(other.recognises(text.head()) == (&other == &format));
    }
  }
}

TEST_CASE("a format named and a format found read the same", "[contract]") {
  for (const TraceFormat& format : trace_formats()) {
    CAPTURE(format.name);
    const auto named = read(sample_of(format), format.name);
    const auto found = read(sample_of(format), "auto");
    REQUIRE(named.requests.size() >= 2);
    REQUIRE(found.requests.size() == named.requests.size());
    SimTime last;
    for (std::size_t i = 0; i < named.requests.size(); ++i) {
      const Request& r = named.requests[i];
      CHECK(r.id == i);
      CHECK(r.prompt_tokens >= 1);
      CHECK(r.output_tokens >= 1);
      CHECK(r.arrival >= last);
      CHECK(found.requests[i].arrival == r.arrival);
      last = r.arrival;
    }
    CHECK(named.requests[0].arrival == SimTime());
  }
}

TEST_CASE("every format honours limit and rate_scale", "[contract]") {
  for (const TraceFormat& format : trace_formats()) {
    CAPTURE(format.name);
    const auto plain = read(sample_of(format), format.name);
    WorkloadOptions options;
    options.trace = sample_of(format);
    options.rate_scale = 2;
    options.limit = 2;
    const auto scaled = test::read_all(options);
    REQUIRE(scaled.requests.size() == 2);
    CHECK(scaled.requests[1].arrival.seconds() ==
          Approx(plain.requests[1].arrival.seconds() / 2).margin(1e-9));
  }
}

}  // namespace
}  // namespace headway
