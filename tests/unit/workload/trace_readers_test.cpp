#include "sim/workload/trace_format.h"
#include "tests/support/catch.h"
#include "tests/unit/workload/trace_support.h"

namespace headway {
namespace {

using test::read_text;

using Ids = std::vector<std::uint64_t>;

TEST_CASE("plain CSV: columns by header, in any order", "[unit][trace]") {
  const auto trace = read_text("a.csv",
                               "output_tokens,arrival_s,priority,input_tokens,tenant,max_tokens\n"
                               "20,10.5,-1,100,4,64\n"
                               "5,11.000000001,,64,,\n");
  REQUIRE(trace.requests.size() == 2);
  const Request& a = trace.requests[0];
  CHECK(a.id == 0);
  CHECK(a.arrival == SimTime());
  CHECK(a.prompt_tokens == 100);
  CHECK(a.output_tokens == 20);
  CHECK(a.priority == -1);
  CHECK(a.tenant == 4);
  CHECK(a.max_tokens == 64);
  const Request& b = trace.requests[1];
  CHECK(b.id == 1);
  CHECK(b.arrival.ns() == 500'000'001);  // to the nanosecond
  CHECK(b.session_id == -1);
  CHECK(b.acceptance_rate < 0);
  CHECK(b.max_tokens == 0);
  CHECK(trace.notes.empty());
}

TEST_CASE("plain CSV: sessions, prefixes, acceptance and block ids", "[unit][trace]") {
  const auto trace = read_text(
      "a.csv",
      "arrival_s,input_tokens,output_tokens,session_id,think_time_s,prefix_group,prefix_tokens,"
      "acceptance_rate,block_ids16\n"
      "0,100,2,chat-a,0,3,32,0.75,\n"
      "1,101,2,7,1.25,,,,11 12  13\n"
      "2,102,2,chat-a,,-1,0,,\n");
  REQUIRE(trace.requests.size() == 3);
  CHECK(trace.requests[0].session_id >= 0);
  CHECK(trace.requests[0].session_id == trace.requests[2].session_id);
  CHECK(trace.requests[0].prefix_group == 3);
  CHECK(trace.requests[0].prefix_tokens == 32);
  CHECK(trace.requests[0].acceptance_rate == 0.75F);
  CHECK(trace.requests[0].content_granularity == 0);
  CHECK(trace.requests[1].session_id == 7);
  CHECK(trace.requests[1].think_time == SimTime::from_seconds(1.25));
  CHECK(trace.requests[1].content_granularity == 16);
  CHECK(trace.requests[1].content_ids == Ids{11, 12, 13});
}

TEST_CASE("plain CSV: a run's requests file can be replayed", "[unit][trace]") {
  const auto trace = read_text("requests.csv",
                               "request_id,session_id,arrival_s,scheduled_s,input_tokens,"
                               "output_tokens,finish_reason\n"
                               "0,-1,0.25,0.3,10,4,length\n");
  REQUIRE(trace.requests.size() == 1);
  CHECK(trace.requests[0].session_id == -1);
  REQUIRE(trace.notes.size() == 1);
  CHECK_THAT(trace.notes[0], ContainsSubstring("columns not read: scheduled_s, finish_reason"));
}

TEST_CASE("a BOM, CRLF, blank lines, quotes and a missing last newline read fine",
          "[unit][trace]") {
  const auto trace = read_text("a.csv",
                               "\xEF\xBB\xBF\"arrival_s\", input_tokens ,output_tokens\r\n"
                               "\r\n"
                               "0,\"10\", 2\r\n"
                               "1,11.0,3");
  REQUIRE(trace.requests.size() == 2);
  CHECK(trace.requests[0].prompt_tokens == 10);
  CHECK(trace.requests[1].prompt_tokens == 11);
  CHECK(trace.requests[1].output_tokens == 3);
  CHECK(trace.notes.empty());
}

TEST_CASE("Azure 2023: seven digits of a second", "[unit][trace]") {
  const auto trace = read_text("a.csv",
                               "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                               "2023-11-16 18:15:46.6805900,374,44\r\n"
                               "2023-11-16 18:15:50.9951691,396,109\r\n"
                               "2023-11-17 00:00:00.0000000,879,55");
  REQUIRE(trace.requests.size() == 3);
  CHECK(trace.requests[0].prompt_tokens == 374);
  CHECK(trace.requests[0].output_tokens == 44);
  CHECK(trace.requests[1].arrival.ns() == 4'314'579'100);
  // 5 h 44 min 13.31941 s to midnight
  CHECK(trace.requests[2].arrival.ns() == 20'653'319'410'000);
}

TEST_CASE("Azure 2024: a zone, and fractions that may be missing", "[unit][trace]") {
  const auto trace = read_text("a.csv",
                               "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                               "2024-05-10 00:00:00.009930+00:00,2162,5\n"
                               "2024-05-10 00:00:01+00:00,2399,6\n"
                               "2024-05-10 02:00:01.5+02:00,76,15\n"
                               "2024-05-10T00:00:02Z,77,16\n");
  REQUIRE(trace.requests.size() == 4);
  CHECK(trace.requests[1].arrival.ns() == 990'070'000);
  CHECK(trace.requests[2].arrival.ns() == 1'490'070'000);
  CHECK(trace.requests[3].arrival.ns() == 1'990'070'000);
}

TEST_CASE("timestamps count leap days and refuse what is no time", "[unit][trace]") {
  std::int64_t ns = 0;
  REQUIRE(parse_timestamp_ns("1970-01-01 00:00:00", ns));
  CHECK(ns == 0);
  REQUIRE(parse_timestamp_ns("2024-03-01 00:00:00", ns));
  CHECK(ns == 1'709'251'200'000'000'000);  // date -u -d 2024-03-01 +%s
  REQUIRE(parse_timestamp_ns("2000-02-29 12:34:56.000000001-05:30", ns));
  CHECK(ns == 951'847'496'000'000'001);
  for (const char* bad :
       {"", "2023-11-16", "2023-13-01 00:00:00", "2023-11-16 24:00:00", "2023-11-16 18:15:46+0",
        "2023-11-16 18:15:46.5x", "16/11/2023 18:15:46"}) {
    CHECK_FALSE(parse_timestamp_ns(bad, ns));
  }
}

TEST_CASE("decimal times are exact to the nanosecond", "[unit][trace]") {
  const auto ns = [](std::string_view text, std::int64_t unit) {
    std::int64_t value = -1;
    return parse_time_ns(text, unit, value) ? value : -1;
  };
  CHECK(ns("123456789.123456789", 1'000'000'000) == 123'456'789'123'456'789);
  CHECK(ns("0.0000000004", 1'000'000'000) == 0);
  CHECK(ns("0.0000000005", 1'000'000'000) == 1);
  CHECK(ns("27.5", 1'000'000) == 27'500'000);
  CHECK(ns("46926808", 1) == 46'926'808);
  CHECK(ns("1.5e3", 1'000'000'000) == 1'500'000'000'000);
  CHECK(ns(".5", 1'000'000'000) == 500'000'000);
  CHECK(ns("1700000000000000000", 1) == 1'700'000'000'000'000'000);
  CHECK(ns("9999999999999999999", 1) == -1);
  CHECK(ns("5.", 1'000'000'000) == 5'000'000'000);
  for (const char* bad :
       {"", ".", "-", "nan", "inf", "1e30", "99999999999999999999", "1.2.3", "0x1"}) {
    CHECK(ns(bad, 1'000'000'000) == -1);
    CHECK(ns(bad, 1'000'000) == -1);
  }
}

TEST_CASE("BurstGPT: failed rows are left out, counted and named", "[unit][trace]") {
  const std::string text =
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n"
      "45,\"GPT-4, \"\"turbo\"\"\",1087,230,1317,Conversation log\n"
      "118,GPT-4,417,0,417,API log\n"
      "119,GPT-4,0,0,0,API log\n"
      "120.5,GPT-4,30,3,33,API log\n";
  const auto trace = read_text("b.csv", text);
  REQUIRE(trace.requests.size() == 3);
  CHECK(trace.requests[1].arrival == SimTime::from_seconds(40));
  CHECK(trace.requests[1].prompt_tokens == 1087);
  CHECK(trace.requests[2].id == 2);
  CHECK(trace.requests[2].arrival == SimTime::from_seconds(115.5));
  REQUIRE(trace.notes.size() == 1);
  CHECK_THAT(trace.notes[0], ContainsSubstring("2 rows of failed requests"));

  WorkloadOptions strict;
  strict.failed_rows = "error";
  const auto error = test::error_of("b.csv", text, strict);
  CHECK(error.place == "line 4");
  CHECK_THAT(error.found, ContainsSubstring("failed request"));
}

TEST_CASE("Mooncake: milliseconds and block ids", "[unit][trace]") {
  const std::string text =
      R"({"timestamp": 1000, "input_length": 1025, "output_length": 52, "hash_ids": [46,47,99]})"
      "\n"
      R"({"timestamp": 1027.5, "input_length": 1, "output_length": 26, "hash_ids": []})";
  auto trace = read_text("m.jsonl", text);
  REQUIRE(trace.requests.size() == 2);
  CHECK(trace.requests[0].prompt_tokens == 1025);
  CHECK(trace.requests[0].content_granularity == 512);
  CHECK(trace.requests[0].content_ids == Ids{46, 47, 99});
  CHECK(trace.requests[1].arrival.ns() == 27'500'000);
  CHECK(trace.requests[1].content_granularity == 0);

  WorkloadOptions other;
  other.hash_block_size = 1000;
  CHECK(test::error_of("m.jsonl", text, other).found == "\"3 block ids\"");
  other.hash_block_size = 384;
  trace = read_text("m.jsonl", text, other);
  CHECK(trace.requests[0].content_granularity == 384);
}

TEST_CASE("Mooncake: sessions with delays, unknown keys passed over", "[unit][trace]") {
  const auto trace = read_text(
      "m.jsonl",
      R"({"session_id":"s","timestamp":5,"input_length":9,"output_length":2,"x":[{"timestamp":1}]})"
      "\n"
      R"({"session_id": "s", "delay": 1500, "input_length": 30, "output_length": 2, "text": null})"
      "\n"
      R"({"session_id": 3, "timestamp": 9, "input_length": 30, "output_length":2, "priority":2})");
  REQUIRE(trace.requests.size() == 3);
  CHECK(trace.requests[1].session_id == trace.requests[0].session_id);
  CHECK(trace.requests[1].think_time == SimTime::from_ms(1500));
  CHECK(trace.requests[1].arrival == SimTime());
  CHECK(trace.requests[2].session_id == 3);
  CHECK(trace.requests[2].priority == 2);
  CHECK(trace.requests[2].arrival == SimTime::from_ms(4));
}

TEST_CASE("LLMServingSim: nanoseconds, block and token ids", "[unit][trace]") {
  const auto trace = read_text(
      "l.jsonl",
      R"({"arrival_time_ns":46926808,"input_toks":40,"output_toks":3,"block_ids16":[0,1]})"
      "\n"
      R"({"arrival_time_ns":46926809,"input_toks":3,"output_toks":2,)"
      R"("input_tok_ids":[9,8,7],"output_tok_ids":[5,4]})");
  REQUIRE(trace.requests.size() == 2);
  CHECK(trace.requests[0].content_granularity == 16);
  CHECK(trace.requests[0].content_ids == Ids{0, 1});
  CHECK(trace.requests[1].arrival.ns() == 1);
  CHECK(trace.requests[1].content_granularity == 1);
  CHECK(trace.requests[1].content_ids == Ids{9, 8, 7});
  CHECK(trace.requests[1].output_ids == Ids{5, 4});
}

TEST_CASE("Vidur and lengths without times", "[unit][trace]") {
  auto trace =
      read_text("v.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,3,4\n1,5,6\n");
  REQUIRE(trace.requests.size() == 2);
  CHECK(trace.requests[1].arrival == SimTime::from_seconds(0.5));
  CHECK(trace.requests[1].prompt_tokens == 5);
  trace = read_text("l.csv", "input_length,output_length\n3,4\n5,6\n");
  REQUIRE(trace.requests.size() == 2);
  CHECK(trace.requests[1].arrival == SimTime());
  CHECK(trace.requests[1].output_tokens == 6);
}

TEST_CASE("vLLM benchmark results: send times, failures, rows in another order", "[unit][trace]") {
  const auto trace = read_text("r.json", R"({"backend": "vllm", "request_rate": 2.0,
      "input_lens": [100, 200, 300], "output_lens": [10, 0, 30],
      "start_times": [1000.5, 1000.25, 1000.125], "errors": ["", "timeout", ""]})");
  REQUIRE(trace.requests.size() == 2);
  CHECK(trace.requests[0].prompt_tokens == 300);
  CHECK(trace.requests[1].arrival == SimTime::from_seconds(0.375));
  REQUIRE(trace.notes.size() == 2);
}

TEST_CASE("vLLM benchmark results without send times replay only when all were sent at once",
          "[unit][trace]") {
  const auto all = read_text("r.json", R"({"request_rate": "inf", "input_lens": [1, 2],
      "output_lens": [3, 4], "ttfts": [0.1, 0.2]})");
  REQUIRE(all.requests.size() == 2);
  CHECK(all.requests[1].arrival == SimTime());
  const auto error = test::error_of("r.json", R"({"request_rate": 2, "input_lens": [1, 2],
      "output_lens": [3, 4], "ttfts": [0.1, 0.2]})");
  CHECK_THAT(error.found, ContainsSubstring("start_times"));
}

}  // namespace
}  // namespace headway
