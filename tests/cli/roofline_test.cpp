// `headway roofline` from the outside: the lecture's table, what it writes, what it refuses.
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/run_program.h"

using namespace headway;
using Json = nlohmann::json;
using test::ProgramResult;
using test::run_program;

namespace {

ProgramResult roofline(std::vector<std::string> more) {
  more.insert(more.begin(), "roofline");
  return run_program(more);
}

Json roofline_json_of(std::vector<std::string> more) {
  more.emplace_back("--json");
  const ProgramResult result = roofline(more);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  return Json::parse(result.out);
}

void refused(const std::vector<std::string>& words, const std::vector<std::string>& parts) {
  const ProgramResult result = roofline(words);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  for (const std::string& part : parts) CHECK_THAT(result.err, ContainsSubstring(part));
}

const std::vector<std::string> kLlama = {"--model", "llama-2-13b", "--gpu", "h100-sxm"};

std::vector<std::string> llama(const std::vector<std::string>& more) {
  std::vector<std::string> words = kLlama;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("roofline prints the lecture's table to its digits", "[cli]") {
  const ProgramResult mha =
      roofline(llama({"--batch", "1,16,64,256", "--set", "gpu.memory_bytes=80e9"}));
  REQUIRE(mha.exit_code == 0);
  CHECK(mha.err.empty());
  for (const char* text :
       {"13 015 449 600", "838 860 800 bytes a sequence of 1024 tokens", "295 FLOPs a byte",
        "26 869 760 000", "8.0208", "124.68", "39 452 672 000", "11.7769", "1358.59",
        "79 717 990 400", "23.7964", "2689.48", "barely", "240 779 264 000", "71.8744", "3561.77",
        "largest batch that fits into 80 000 000 000 bytes is 64."}) {
    CHECK_THAT(mha.out, ContainsSubstring(text));
  }
  const ProgramResult gqa =
      roofline(llama({"--batch", "64,256", "--set", "model.num_key_value_heads=8"}));
  for (const char* text : {"11 337 728 000", "33 412 874 240", "9.9740", "6416.69",
                           "65 625 128 960", "19.5896", "13068.16"}) {
    CHECK_THAT(gqa.out, ContainsSubstring(text));
  }
}

TEST_CASE("roofline's JSON holds every number of the table and of every operator", "[cli]") {
  const Json r = roofline_json_of(llama({"--batch", "1,64,256"}));
  const std::set<std::string> keys = {"schema_version",
                                      "model",
                                      "gpu",
                                      "precision",
                                      "tensor_parallel_size",
                                      "context_tokens",
                                      "prompt_tokens",
                                      "parameters",
                                      "matrix_parameters",
                                      "active_parameters",
                                      "kv_bytes_per_sequence",
                                      "peak_flops",
                                      "memory_bandwidth",
                                      "memory_bytes",
                                      "ridge",
                                      "prefill",
                                      "generation",
                                      "sweep",
                                      "largest_batch"};
  std::set<std::string> found;
  for (const auto& item : r.items()) found.insert(item.key());
  CHECK(found == keys);
  CHECK(r["schema_version"] == 1);
  CHECK(r["matrix_parameters"] == 13015449600);
  CHECK(r["ridge"].get<double>() == Approx(989 / 3.35));
  REQUIRE(r["sweep"].size() == 3);
  CHECK(r["sweep"][1]["memory_bytes"] == 79717990400);
  CHECK(r["sweep"][1]["latency_ms"].get<double>() == Approx(23.7964).margin(5e-5));
  CHECK(r["sweep"][2]["fits"] == "no");
  REQUIRE(r["generation"].size() == 3);
  for (const Json& pass : {r["prefill"], r["generation"][0], r["generation"][2]}) {
    double flops = 0, bytes = 0, us = 0;
    for (const Json& op : pass["operators"]) {
      CHECK(op["bytes"].get<double>() ==
            Approx(op["weight_bytes"].get<double>() + op["kv_bytes"].get<double>() +
                   op["activation_bytes"].get<double>()));
      const double ridge = op["peak_flops"].get<double>() / r["memory_bandwidth"].get<double>();
      CHECK((op["bound"] == "compute") == (op["intensity"].get<double>() >= ridge));
      flops += op["flops"].get<double>();
      bytes += op["bytes"].get<double>();
      us += op["time_us"].get<double>();
    }
    CHECK(pass["flops"].get<double>() == Approx(flops));
    CHECK(pass["bytes"].get<double>() == Approx(bytes));
    CHECK(pass["time_ms"].get<double>() * 1e3 == Approx(us));
  }
  // 2 x parameters in the products (embedding apart) x tokens, and attention over half the pairs.
  const double products = 2.0 * (13015449600.0 - 32000.0 * 5120) * 1024;
  const double lm_head_once = 2.0 * 32000 * 5120 * 1023;  // of the prompt's last token alone
  const double attention = 4.0 * 5120 * 40 * 1024 * 1025 / 2;
  CHECK(r["prefill"]["flops"].get<double>() ==
        Approx(products - lm_head_once + attention).epsilon(1e-6));
}

TEST_CASE(
    "roofline: prefill is bound by compute, generation by memory, and a batch turns the MLP over",
    "[cli]") {
  const Json r = roofline_json_of(llama({"--batch", "1,1024"}));
  const auto bound = [](const Json& pass, const std::string& name) {
    for (const Json& op : pass["operators"]) {
      if (op["name"] == name) return op["bound"].get<std::string>();
    }
    return std::string("none");
  };
  CHECK(bound(r["prefill"], "gate_up") == "compute");
  CHECK(bound(r["generation"][0], "gate_up") == "memory");
  CHECK(bound(r["generation"][1], "gate_up") == "compute");
}

TEST_CASE("roofline writes JSON and a picture, shows formulas, splits over GPUs", "[cli]") {
  const test::TempFolder folder;
  const ProgramResult files =
      roofline(llama({"--json", folder / "r.json", "--svg", folder / "r.svg"}));
  INFO(files.err);
  REQUIRE(files.exit_code == 0);
  CHECK_THAT(files.out, ContainsSubstring("Generation by batch"));
  CHECK(Json::parse(test::read_text(folder / "r.json"))["model"] == "llama-2-13b");
  const std::string svg = test::read_text(folder / "r.svg");
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  for (const char* text : {"prefers-color-scheme:dark", "ridge 295", "gate_up",
                           "generation, B = 64", "B = 256: does not fit", "memory ends at B = "}) {
    CHECK_THAT(svg, ContainsSubstring(text));
  }
  const ProgramResult formulas = roofline(llama({"--batch", "64", "--formulas"}));
  CHECK_THAT(formulas.out, ContainsSubstring("26 030 899 200 + 64 x 838 860 800 = 79 717 990 400"));
  const Json one = roofline_json_of(llama({"--batch", "64"})),
             two = roofline_json_of(llama({"--batch", "64", "--tp", "2"}));
  CHECK(two["sweep"][0]["memory_bytes"].get<double>() ==
        Approx(one["sweep"][0]["memory_bytes"].get<double>() / 2));
  CHECK(two["largest_batch"] > one["largest_batch"]);
  const Json wide = roofline_json_of(llama({"--weights", "int4", "--kv", "fp8", "--activations",
                                            "fp8", "--prompt", "2048", "--context", "512"}));
  CHECK(wide["prompt_tokens"] == 2048);
  CHECK(wide["context_tokens"] == 512);
  CHECK(wide["kv_bytes_per_sequence"] == 838860800 / 4);
}

TEST_CASE("roofline knows every model and every GPU of the catalogue", "[cli]") {
  const Json models = Json::parse(run_program({"list", "models", "--json"}).out);
  for (const Json& model : models) {
    const std::string name = model["name"];
    INFO(name);
    const Json r = roofline_json_of({"--model", name, "--gpu", "b200-sxm", "--batch", "8"});
    CHECK(r["sweep"][0]["operators_ms"].get<double>() > 0);
    CHECK(r["prefill"]["flops"].get<double>() > 0);
  }
}

TEST_CASE("roofline says what is wrong with a command line", "[cli]") {
  refused({}, {"headway roofline", "--model"});
  refused({"--model", "llama-2-13b"}, {"--gpu"});
  refused({"--model", "llama-2-31b", "--gpu", "h100-sxm"}, {"--model", "did you mean llama-2-13b"});
  refused({"--model", "llama-2-13b", "--gpu", "h100"}, {"--gpu", "h100-sxm"});
  for (const char* batch : {"0", "1,,2", "x", "1,-2", "1.5", ""}) {
    if (*batch != 0) refused(llama({"--batch", batch}), {"--batch", "whole numbers"});
  }
  refused(llama({"--context", "0"}), {"--context", "at least 1"});
  refused(llama({"--context", "999999999999"}), {"--context", "at most"});
  refused(llama({"--weights", "bf17"}), {"--weights", "did you mean bf16"});
  refused(llama({"--kv", "float"}), {"--kv"});
  refused(llama({"--tp", "3"}), {"tensor_parallel_size", "divisor"});
  refused(llama({"--set", "model.num_key_value_haeds=8"}), {"model.num_key_value_haeds"});
  refused(llama({"--set", "model.num_key_value_heads=7"}),
          {"model.num_key_value_heads", "divisor"});
  refused(llama({"--set", "gpu.memory_bytes=lots"}), {"gpu.memory_bytes", "a number"});
  refused(llama({"--set", "gpu.memory=1"}), {"gpu.memory", "memory_bytes"});
  refused(llama({"--set", "engine.max_num_seqs=1"}), {"model.KEY or gpu.KEY"});
  const test::TempFolder folder;
  refused(llama({"--svg", folder / "no/such/folder.svg"}), {"no/such"});
  refused(llama({"--svg", folder / "x", "--json", folder / "x"}), {"two outputs"});
  CHECK(folder.entries() == 0);
}
