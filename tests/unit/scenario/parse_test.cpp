#include "sim/scenario/parse.h"

#include <cmath>

#include "sim/core/errors.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

using namespace headway;

namespace {

// A scenario that parses, with more keys at the end of its top level.
std::string with(const std::string& more) {
  return "{\n  \"model\": \"qwen3-14b\",\n  \"gpu\": \"h100-sxm\",\n"
         "  \"workload\": {\"num_prompts\": 10, \"request_rate\": 2}" +
         (more.empty() ? "" : ",\n" + more) + "\n}\n";
}

InputError::Parts refusal(const std::string& text, const std::vector<Assignment>& sets = {}) {
  try {
    parse_scenario(text, "test.json", sets);
  } catch (const InputError& error) {
    return error.parts();
  }
  FAIL("accepted: " << text);
  return {};
}

struct Bad {
  std::string text, place, found, expected;
};

void check(const Bad& bad) {
  INFO(bad.text);
  const InputError::Parts parts = refusal(bad.text);
  CHECK(parts.file == "test.json");
  CHECK(parts.place == bad.place);
  CHECK_THAT(parts.found, ContainsSubstring(bad.found));
  CHECK_THAT(parts.expected, ContainsSubstring(bad.expected));
}

}  // namespace

TEST_CASE("a scenario of three keys has every default", "[unit][scenario]") {
  const Scenario s = parse_scenario(with(""), "folder/first.json");
  REQUIRE(s.name == "first");
  REQUIRE(s.model.hidden_size == 5120);
  REQUIRE(s.gpu.memory_bandwidth > 3e12);
  REQUIRE(s.profile == "roofline");
  REQUIRE(s.engine.scheduler == "vllm-v1");
  REQUIRE(s.engine.max_model_len == 40960);  // the model's own
  REQUIRE(s.engine.batch_size == s.engine.max_num_seqs);
  REQUIRE(s.precision.weights == DType::kBf16);
  REQUIRE_FALSE(s.host.per_step_us.has_value());
  REQUIRE_FALSE(s.slo.any());
  REQUIRE(s.workload.generated());
  REQUIRE(s.workload.input_len.value == 1024);
  REQUIRE(s.workload.output_len.value == 128);
  REQUIRE(s.seed == 0);
}

TEST_CASE("values of every kind are read", "[unit][scenario]") {
  const Scenario s = parse_scenario(R"({
    // comments are allowed
    "name": "all", "model": "llama-2-13b", "seed": 18446744073709551615,
    "gpu": {"base": "a100-sxm", "memory_bytes": 4e10, "price_per_hour": 1.25},
    "precision": {"weights": "int4", "kv": "fp8", "group_size": 64, "kept_fraction": 0.01},
    "engine": {"max_num_seqs": 64, "gpu_memory_utilization": 0.8, "enable_prefix_caching": false,
               "kv_allocator": "reserve-max", "max_model_len": 4096},
    "parallel": {"tensor_parallel_size": 2},
    "host": {"per_step_us": 250, "per_request_us": null},
    "slo": {"ttft_ms": 2000, "tpot_ms": 99.5},
    "workload": {"num_prompts": 5, "request_rate": "inf", "burstiness": 0.5, "max_concurrency": 4,
                 "input_len": {"distribution": "uniform", "low": 10, "high": 20},
                 "output_len": {"distribution": "mixture", "weights": [1, 3],
                                "parts": [7, {"distribution": "lognormal", "mean": 90, "stddev": 30}]},
                 "sessions": {"turns": 3, "new_input_len": 40, "think_time_s": 2.5}}
  })",
                                    "test.json");
  REQUIRE(s.seed == 18446744073709551615ULL);
  REQUIRE(s.gpu_name == "a100-sxm");
  REQUIRE(s.gpu.memory_bytes == 40'000'000'000);
  REQUIRE(s.gpu.price_per_hour == 1.25);
  REQUIRE(s.gpu.memory_bandwidth > 1e12);
  REQUIRE(s.precision.kv == DType::kFp8);
  REQUIRE(s.precision.activations == DType::kBf16);
  REQUIRE(s.precision.weights == DType::kInt4);
  REQUIRE(s.precision.group_size == 64);
  REQUIRE(s.precision.kept_fraction == 0.01);
  REQUIRE(s.engine.max_num_seqs == 64);
  REQUIRE(s.engine.gpu_memory_utilization == 0.8);
  REQUIRE_FALSE(s.engine.enable_prefix_caching);
  REQUIRE(s.parallel.tensor_parallel_size == 2);
  REQUIRE(*s.host.per_step_us == 250);
  REQUIRE_FALSE(s.host.per_request_us.has_value());
  REQUIRE(*s.slo.tpot_ms == 99.5);
  REQUIRE(std::isinf(s.workload.request_rate));
  REQUIRE(s.workload.burstiness == 0.5);
  REQUIRE(s.workload.input_len.high == 20);
  REQUIRE(s.workload.output_len.parts.size() == 2);
  REQUIRE(s.workload.output_len.parts[0].value == 7);
  REQUIRE(s.workload.output_len.parts[1].stddev == 30);
  REQUIRE(s.workload.sessions->think_time_s == 2.5);
}

TEST_CASE("a wrong key is named with its line and the nearest right one", "[unit][scenario]") {
  check({with("  \"engine\": {\n    \"max_num_sequences\": 8}"), "line 6: engine.max_num_sequences",
         "unknown key", "did you mean max_num_seqs?"});
  check({with("  \"workloads\": 3"), "line 5: workloads", "unknown key", "did you mean workload?"});
  check({with("  \"max_num_seqs\": 8"), "line 5: max_num_seqs", "unknown key",
         "did you mean engine.max_num_seqs?"});
  check({with("  \"slo\": {\"zzzzzzzzzzzz\": 1}"), "line 5: slo.zzzzzzzzzzzz", "unknown key",
         "one of ttft_ms, tpot_ms, e2el_ms"});
  check({with("  \"workload\": {\"num_prompts\": 1}"), "line 5: workload", "given twice", "once"});
}

TEST_CASE("a wrong value is named with what would be right", "[unit][scenario]") {
  const auto engine = [](const std::string& key, const std::string& value) {
    return with("  \"engine\": {\"" + key + "\": " + value + "}");
  };
  const std::string seqs = "line 5: engine.max_num_seqs";
  check({engine("max_num_seqs", "\"many\""), seqs, "the text \"many\"",
         "a whole number, 1 to 1000000"});
  check({engine("max_num_seqs", "0"), seqs, "0", "1 to 1000000"});
  check({engine("max_num_seqs", "-3"), seqs, "-3", "1 to 1000000"});
  check({engine("max_num_seqs", "2.5"), seqs, "2.5", "a whole number"});
  check({engine("max_num_seqs", "1e300"), seqs, "1e+300", "a whole number"});
  check({engine("max_num_seqs", "18446744073709551615"), seqs, "18446744073709551615", "a whole"});
  check({engine("max_num_seqs", "null"), seqs, "null", "a whole number"});
  check({engine("max_num_seqs", "[1]"), seqs, "a list", "a whole number"});
  check({engine("gpu_memory_utilization", "1.5"), "line 5: engine.gpu_memory_utilization", "1.5",
         "above 0, at most 1"});
  check({engine("gpu_memory_utilization", "\"nan\""), "line 5: engine.gpu_memory_utilization",
         "the text \"nan\"", "a number"});
  check({engine("enforce_eager", "1"), "line 5: engine.enforce_eager", "1", "true or false"});
  check({engine("kv_allocator", "\"reserve-mx\""), "line 5: engine.kv_allocator", "\"reserve-mx\"",
         "did you mean reserve-max?"});
  check({with("  \"engine\": 3"), "line 5: engine", "3", "an object"});
  check({with("  \"seed\": -1"), "line 5: seed", "-1", "a whole number"});
  check({with("  \"precision\": {\"kv\": \"bf15\"}"), "line 5: precision.kv", "\"bf15\"",
         "did you mean bf16?"});
  check({with("  \"precision\": {\"kept_fraction\": 2}"), "line 5: precision.kept_fraction", "2",
         "0 to 1"});
  check({"[1, 2]", "", "a list", "an object"});
}

TEST_CASE("syntax errors have a line and a column", "[unit][scenario]") {
  check({"{\n  \"model\": \"a\",\n  oops\n}", "line 3, column 3", "o", "string literal"});
  check({"{\n  \"model\": \"a\",\n}", "line 3, column 1", "}", "string literal"});
  check({"", "line 1, column 1", "the end of the file", ""});
  check({"{\"seed\": 1e999}", "line 1, column 14", "1e999", "a number that fits"});
  check({"{\"seed\": NaN}", "line 1, column 10", "N", "valid JSON"});
  check({with("") + "x", "line 6, column 1", "x", "end of input"});
  check({"{\"name\": \"cut", "line 1, column 13", "the end of the file", "valid JSON"});
  check({std::string(40, '['), "line 1", "nested", "blocks"});
}

TEST_CASE("names that do not exist are refused with the nearest", "[unit][scenario]") {
  check({R"({"model": "qwen3-14", "gpu": "h100-sxm", "workload": {"num_prompts": 1}})",
         "line 1: model", "\"qwen3-14\"", "did you mean qwen3-14b?"});
  check({R"({"model": "qwen3-14b", "gpu": "h100", "workload": {"num_prompts": 1}})", "line 1: gpu",
         "\"h100\"", "did you mean h100-sxm?"});
  check({R"({"model": "qwen3-14b", "gpu": {"base": "h100"}, "workload": {"num_prompts": 1}})",
         "line 1: gpu.base", "\"h100\"", "did you mean h100-sxm?"});
  check(
      {R"({"model": "qwen3-14b", "gpu": {"base": "h100-sxm", "memory": 1}, )"
       R"("workload": {"num_prompts": 1}})",
       "line 1: gpu.memory", "unknown key", "did you mean"});
  check({with("  \"profile\": \"h100-sxm/no-such-engine\""), "line 5: profile",
         "\"h100-sxm/no-such-engine\"", "one of"});
  check({R"({"model": "qwen3-14b", "gpu": "h100-sxm", "workload": {"trace": "no-such-trace.csv"}})",
         "line 1: workload.trace", "\"no-such-trace.csv\"", "a trace"});
}

TEST_CASE("a profile of another GPU is refused", "[unit][scenario]") {
  const test::TempFolder folder;
  folder.write("mine/profile.json", R"({"gpu": "a100-sxm"})");
  const std::string file = folder.write("s.json", with("  \"profile\": \"mine\""));
  try {
    load_scenario(file);
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.parts().place == "line 5: profile");
    CHECK_THAT(error.parts().found, ContainsSubstring("measured on a100-sxm"));
    CHECK_THAT(error.parts().expected, ContainsSubstring("a profile of h100-sxm"));
  }
}

TEST_CASE("missing keys are named", "[unit][scenario]") {
  check({"{}", "", "no \"model\"", "a catalogue name"});
  check({R"({"model": "qwen3-14b", "gpu": "h100-sxm"})", "", "no \"workload\"", "trace"});
  check({R"({"model": "qwen3-14b", "gpu": "h100-sxm", "workload": {}})", "line 1: workload",
         "neither", "num_prompts"});
  check({R"({"model": "qwen3-14b", "gpu": {"memory_bytes": 1}, "workload": {"num_prompts": 1}})",
         "line 1: gpu", "no \"base\"", "base"});
}

TEST_CASE("keys that contradict each other are refused", "[unit][scenario]") {
  const auto workload = [](const std::string& keys) {
    return R"({"model": "qwen3-14b", "gpu": "h100-sxm", "workload": {)" + keys + "}}";
  };
  check({workload(R"("trace": "a.csv", "num_prompts": 3)"), "line 1: workload.num_prompts",
         "beside a trace", "either"});
  check({workload(R"("num_prompts": 3, "rate_scale": 2)"), "line 1: workload.rate_scale",
         "without a trace", "\"trace\""});
  check({workload(R"("num_prompts": 0)"), "line 1: workload.num_prompts", "0", "1 to"});
  check({workload(R"("num_prompts": 3, "request_rate": 0)"), "line 1: workload.request_rate", "0",
         "above 0"});
  check(
      {workload(R"("num_prompts": 3, "input_len": 0)"), "line 1: workload.input_len", "0", "1 to"});
  check({workload(R"("num_prompts": 3, "input_len": {"distribution": "uniform", "low": 3})"),
         "line 1: workload.input_len", "without \"high\"", "longest"});
  check({workload(R"("num_prompts": 3, "input_len": {"value": 3, "mean": 4})"),
         "line 1: workload.input_len.mean", "another distribution", "fixed"});
  check(
      {workload(
           R"("num_prompts": 3, )"
           R"("output_len": {"distribution": "mixture", "parts": [1, 2], "weights": [1]})"),
       "line 1: workload.output_len", "2 parts and 1 weights", "one weight a part"});
  check({with("  \"engine\": {\"max_model_len\": 50000}"), "line 5: engine.max_model_len", "50000",
         "at most 40960"});
  check({with("  \"engine\": {\"max_num_batched_tokens\": 100}"),
         "line 5: engine.max_num_batched_tokens", "100", "max_num_seqs, which is 256"});
  check({with("  \"engine\": {\"num_gpu_blocks_override\": 10, \"kv_cache_memory_bytes\": 1000}"),
         "line 5: engine.kv_cache_memory_bytes", "two sizes", "either"});
  check({with("  \"parallel\": {\"tensor_parallel_size\": 3}"),
         "line 5: parallel.tensor_parallel_size", "3",
         "a divisor of the 40 attention heads of qwen3-14b; nearest: 2 or 4"});
  check({with("  \"speculation\": {\"method\": \"eagle\"}"), "speculation.num_speculative_tokens",
         "0", "1 to 64"});
  check({with("  \"speculation\": {\"draft_model\": \"llama-3.2-1b\"}"), "speculation.method",
         "without a method", "a method"});
  check({with("  \"cluster\": {\"router\": \"randon\"}"), "line 5: cluster.router", "\"randon\"",
         "did you mean random?"});
  check({with("  \"\\u0000seed\": 1"), "line 5: \\u0000seed", "unknown key", "did you mean seed?"});
}

TEST_CASE("--set changes a value before it is read", "[unit][scenario]") {
  const Scenario s = parse_scenario(
      with(""), "test.json",
      std::vector<Assignment>{
          {"engine.max_num_seqs", "32"},
          {"engine.kv_allocator", "reserve-max"},
          {"gpu.memory_bytes", "50000000000"},
          {"seed", "7"},
          {"workload.input_len", R"({"distribution": "uniform", "low": 1, "high": 9})"},
          {"workload.input_len.high", "5"}});
  REQUIRE(s.engine.max_num_seqs == 32);
  REQUIRE(s.engine.kv_allocator == "reserve-max");
  REQUIRE(s.gpu_name == "h100-sxm");
  REQUIRE(s.gpu.memory_bytes == 50'000'000'000);
  REQUIRE(s.seed == 7);
  REQUIRE(s.workload.input_len.high == 5);
}

TEST_CASE("what --set gets wrong is placed at the command line", "[unit][scenario]") {
  const auto place_of = [](const std::string& key, const std::string& value) {
    const InputError::Parts parts =
        refusal(with("  \"engine\": {\"max_num_seqs\": 4}"), {{key, value}});
    CHECK(parts.file == "command line");
    return parts.place;
  };
  CHECK(place_of("engine.max_num_seqs", "-1") == "--set engine.max_num_seqs");
  CHECK(place_of("engine.max_num_sqs", "1") == "--set engine.max_num_sqs");
  CHECK(place_of("engine", "{\"max_num_sqs\": 1}") == "--set engine");
  CHECK(place_of("model.hidden_size", "0") == "--set model.hidden_size");
  CHECK(place_of("engine..x", "1") == "--set engine..x");
  CHECK(place_of("engine.max_model_len", "99999") == "--set engine.max_model_len");
  CHECK_THROWS_AS(parse_assignment("engine.max_num_seqs"), InputError);
  CHECK_THROWS_AS(parse_assignment("=3"), InputError);
  CHECK(parse_assignment("a.b=c=d").value == "c=d");
}

TEST_CASE("the resolved scenario parses back to the same", "[unit][scenario]") {
  const test::TempFolder folder;
  folder.write("t.csv", "arrival_s,input_tokens,output_tokens\n0,10,10\n");
  const std::string text = R"({"name": "n", "model": "qwen3-30b-a3b",
    "gpu": {"base": "h200-sxm", "price_per_hour": 2.5},
    "engine": {"watermark": 0.1, "policy": "priority", "max_num_seqs": 8},
    "speculation": {"method": "eagle", "num_speculative_tokens": 3, "acceptance": [0.8, 0.5, 0.3]},
    "slo": {"e2el_ms": 1234.5}, "seed": 3,
    "workload": {"trace": "t.csv", "rate_scale": 2.5, "limit": 10, "max_concurrency": 3}})";
  const Scenario first = load_scenario(folder.write("s.json", text));
  REQUIRE(first.workload.trace == folder / "t.csv");  // means the same from any folder
  const std::string printed = to_json_text(first);
  const Scenario second = parse_scenario(printed, "elsewhere.json");
  REQUIRE(to_json_text(second) == printed);
  REQUIRE(second.gpu.price_per_hour == 2.5);
  REQUIRE(second.engine.watermark == 0.1);
  REQUIRE(second.engine.policy == "priority");
  REQUIRE(second.speculation.acceptance == first.speculation.acceptance);
  REQUIRE(*second.slo.e2el_ms == 1234.5);
  REQUIRE(second.workload.rate_scale == 2.5);
  REQUIRE(second.workload.max_concurrency == 3);
  REQUIRE_THAT(printed, ContainsSubstring("\"base\": \"h200-sxm\""));

  const Scenario generated = parse_scenario(with("  \"host\": {\"per_step_us\": 0.1}"), "x.json");
  const std::string again = to_json_text(generated);
  REQUIRE(to_json_text(parse_scenario(again, "x.json")) == again);
  REQUIRE_THAT(again, ContainsSubstring("\"gpu\": \"h100-sxm\""));
}

TEST_CASE("a limit keeps the first requests of either kind of workload", "[unit][scenario]") {
  Scenario s = parse_scenario(with(""), "x.json");
  limit_requests(s, 4);
  REQUIRE(s.workload.num_prompts == 4);
  limit_requests(s, 40);
  REQUIRE(s.workload.num_prompts == 4);
}

TEST_CASE("a scheduler brings its engine's settings, and the scenario goes over them",
          "[unit][scenario]") {
  const auto parse = [](std::vector<Assignment> set) {
    return parse_scenario(with(""), "x.json", set).engine;
  };
  CHECK(parse({}).enable_chunked_prefill);
  const EngineOptions v0 = parse({{"engine.scheduler", "vllm-v0"}});
  CHECK_FALSE(v0.enable_chunked_prefill);
  CHECK_FALSE(v0.enable_prefix_caching);
  CHECK(v0.max_num_batched_tokens == 2048);
  CHECK(parse({{"engine.scheduler", "sarathi"}}).max_num_batched_tokens == 512);
  const EngineOptions given = parse(
      {{"engine.scheduler", "vllm-v0"}, {"engine.enable_chunked_prefill", "true"}});
  CHECK(given.enable_chunked_prefill);
}

TEST_CASE("every key is documented, and every documented default is valid", "[unit][scenario]") {
  std::vector<std::string> seen;
  for (const FieldDoc& doc : scenario_fields()) {
    INFO(doc.key);
    CHECK_FALSE(doc.help.empty());
    CHECK_FALSE(doc.type.empty());
    CHECK(std::find(seen.begin(), seen.end(), doc.key) == seen.end());
    seen.push_back(doc.key);
    if (doc.key.find('[') != std::string::npos) continue;  // of a list's entries
    if (doc.default_value.empty() || doc.key.starts_with("workload.") ||
        doc.default_value == "null")
      continue;
    if (doc.key.starts_with("cluster.router_options.")) continue;  // of one router each
    if (doc.key == "speculation.acceptance" && doc.default_value == "[]") continue;
    CHECK_NOTHROW(
        parse_scenario(with(""), "x.json", std::vector<Assignment>{{doc.key, doc.default_value}}));
  }
  REQUIRE(seen.size() > 60);
}

TEST_CASE("a scenario is found by path, by name, or not at all", "[unit][scenario]") {
  REQUIRE(find_scenario("-") == "-");
  REQUIRE_THROWS_WITH(find_scenario("no/such/scenario.json"), ContainsSubstring("no such file"));
}
