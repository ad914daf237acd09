#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "sim/report/csv_observers.h"
#include "tests/support/catch.h"
#include "tests/support/records.h"

namespace headway {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("headway-csv-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
};

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream text(read_whole_file(path));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("requests CSV: the contract's columns, exact times, empty cells where undefined",
          "[unit]") {
  const Folder folder;
  RequestsCsv csv(folder.file("r.csv"), {500.0, {}, {}});
  RequestRecord r = finished(7, 1.5, 1.625, 1.75, 2.75, 100, 5);
  r.session_id = 3;
  r.cached_tokens = 16;
  r.replica = 2;
  r.preemptions = 1;
  r.max_itl = SimTime::from_ns(250'000'001);
  r.arrival = SimTime::from_ns(1'500'000'001);  // one nanosecond later
  r.split[0] -= SimTime::from_ns(1);
  csv.on_finish(r);
  csv.on_finish(finished(8, 0, 0.125, 1, 1, 10, 1));  // one token
  csv.on_finish(rejected(9, 2, 2.5, "prompt of 9, \"max\" 8"));
  csv.commit();
  const auto lines = lines_of(folder.file("r.csv"));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] ==
        "request_id,session_id,arrival_s,scheduled_s,first_token_s,finish_s,input_tokens,output_"
        "tokens,"
        "cached_tokens,queue_ms,prefill_ms,interference_ms,decode_ms,preemption_ms,host_ms,ttft_ms,"
        "tpot_ms,e2el_ms,max_itl_ms,preemptions,replica,finish_reason,slo_ok");
  CHECK(
      lines[1] ==
      "7,3,1.500000001,1.625000000,1.750000000,2.750000000,100,5,16,124.999999,125.000000,0.000000,"
      "1000.000000,0.000000,0.000000,249.999999,250.000000,1249.999999,250.000001,1,2,length,true");
  CHECK(lines[2] ==
        "8,,0.000000000,0.125000000,1.000000000,1.000000000,10,1,0,125.000000,875.000000,0.000000,"
        "0.000000,0.000000,0.000000,1000.000000,,1000.000000,0.000000,0,0,length,false");
  CHECK(lines[3] ==
        "9,,2.000000000,,,2.500000000,9,0,0,,,,,,,,,,,0,0,\"prompt of 9, \"\"max\"\" 8\",false");
}

TEST_CASE("requests CSV: slo_ok is by the request's class", "[unit]") {
  const Folder folder;
  RequestsCsv csv(folder.file("r.csv"), {}, {},
                  {{.name = "urgent", .first_priority = 0, .last_priority = 0,
                    .limits = {200.0, {}, {}}}});
  RequestRecord r = finished(1, 0, 0, 0.25, 1, 10, 5);
  csv.on_finish(r);
  r.first_token = SimTime::from_seconds(0.2);
  csv.on_finish(r);
  r.priority = 1;  // of no class, and no limit
  csv.on_finish(r);
  csv.commit();
  const auto lines = lines_of(folder.file("r.csv"));
  REQUIRE(lines.size() == 4);
  CHECK(lines[1].ends_with(",length,false"));
  CHECK(lines[2].ends_with(",length,true"));
  CHECK(lines[3].ends_with(",length,"));
}

TEST_CASE("requests CSV: what a request spent between replicas, where the fleet has it", "[unit]") {
  const Folder folder;
  RequestsCsv csv(folder.file("r.csv"), {}, {.between_replicas = true});
  RequestRecord r = finished(7, 1.5, 1.625, 1.75, 2.75, 100, 5);
  r.split[static_cast<std::size_t>(LatencyPart::kTransfer)] = SimTime::from_us(1250);
  csv.on_finish(r);
  csv.on_finish(rejected(9, 2, 2.5, "no"));
  csv.commit();
  const auto lines = lines_of(folder.file("r.csv"));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == std::string(kRequestsCsvHeader) + ",transfer_ms,retry_ms");
  CHECK(lines[1].substr(lines[1].rfind("length")) == "length,,1.250000,0.000000");
  CHECK(lines[2].substr(lines[2].rfind("no")) == "no,,,");
}

TEST_CASE("requests CSV: tenant and priority come last, where the workload has them", "[unit]") {
  const Folder folder;
  RequestsCsv csv(folder.file("r.csv"), {}, {.between_replicas = true, .accounts = true});
  RequestRecord r = finished(7, 1.5, 1.625, 1.75, 2.75, 100, 5);
  r.tenant = 2;
  r.priority = -1;
  csv.on_finish(r);
  RequestRecord shed = rejected(9, 2, 2.5, "no");
  shed.tenant = 1;
  shed.priority = 8;
  csv.on_finish(shed);
  csv.commit();
  const auto lines = lines_of(folder.file("r.csv"));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == std::string(kRequestsCsvHeader) + ",transfer_ms,retry_ms,tenant,priority");
  CHECK(lines[1].ends_with(",length,,0.000000,0.000000,2,-1"));
  CHECK(lines[2].ends_with(",no,,,,1,8"));
}

TEST_CASE("requests CSV: slo_ok is empty without limits", "[unit]") {
  const Folder folder;
  RequestsCsv csv(folder.file("r.csv"), {});
  csv.on_finish(finished(0, 0, 0, 1, 2, 1, 2));
  csv.commit();
  CHECK(lines_of(folder.file("r.csv"))[1].ends_with(",length,"));
}

TEST_CASE("steps CSV: the contract's columns", "[unit]") {
  const Folder folder;
  StepsCsv csv(folder.file("s.csv"));
  StepRecord s;
  s.replica = 1;
  s.step = 42;
  s.start = SimTime::from_ns(12'000'000'345);
  s.duration = SimTime::from_ns(1'234'567);
  s.batch = 3;
  s.prefill_tokens = 512;
  s.decode_tokens = 2;
  s.cached_tokens = 64;
  s.running = 4;
  s.waiting = 5;
  s.kv_blocks = 1000;
  s.preempted = 6;
  s.gpu = SimTime::from_ns(1'000'000);
  s.host = SimTime::from_ns(234'567);
  csv.on_step(s);
  csv.commit();
  const auto lines = lines_of(folder.file("s.csv"));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] ==
        "replica,step,start_s,duration_us,batch,prefill_tokens,decode_tokens,cached_tokens,running,"
        "waiting,kv_blocks,preempted,gpu_us,host_us");
  CHECK(lines[1] == "1,42,12.000000345,1234.567,3,512,2,64,4,5,1000,6,1000.000,234.567");
}

TEST_CASE("decimals: signs, zeros and the widest values", "[unit]") {
  const Folder folder;
  CsvWriter csv(folder.file("d.csv"), "x");
  csv.decimal(-1, 9);
  csv.decimal(0, 3);
  csv.decimal(INT64_MAX, 9);
  csv.decimal(INT64_MIN, 3);
  csv.number(2.0 / 3, 6);
  csv.number(1e300, 0);
  csv.end_row();
  csv.commit();
  CHECK(lines_of(folder.file("d.csv"))[1].starts_with(
      "-0.000000001,0.000,9223372036.854775807,-9223372036854775.808,0.666667,1"));
}

TEST_CASE("a run that fails leaves no CSV behind", "[unit]") {
  const Folder folder;
  {
    RequestsCsv requests(folder.file("r.csv"), {});
    StepsCsv steps(folder.file("s.csv"));
    for (int i = 0; i < 20'000; ++i) {
      requests.on_finish(finished(0, 0, 0, 1, 2, 1, 2));
      steps.on_step({});
    }
  }
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("a full disk stops the run as the user's error", "[unit]") {
  if (!fs::exists("/dev/full")) return;
  StepsCsv steps("/dev/full");
  const auto fill = [&] {
    for (int i = 0; i < 100'000; ++i) steps.on_step({});
  };
  CHECK_THROWS_AS(fill(), InputError);
  RequestsCsv requests("/dev/full", {});
  CHECK_THROWS_WITH(requests.commit(), ContainsSubstring("/dev/full"));
}

}  // namespace
}  // namespace headway
