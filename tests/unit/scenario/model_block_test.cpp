#include "sim/core/errors.h"
#include "sim/scenario/parse.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

std::string scenario(const std::string& model) {
  return "{\n  \"gpu\": \"h100-sxm\",\n  \"workload\": {\"num_prompts\": 1, \"request_rate\": 1},\n"
         "  \"model\": " +
         model + "\n}\n";
}

InputError::Parts refusal(const std::string& model) {
  try {
    parse_scenario(scenario(model), "test.json");
  } catch (const InputError& error) {
    return error.parts();
  }
  FAIL("accepted: " << model);
  return {};
}

}  // namespace

TEST_CASE("a scenario may change figures of its model, and says so when written", "[unit]") {
  const std::string text = scenario(
      R"({"base": "llama-2-7b", "num_key_value_heads": 8, "sliding_window": 1024})");
  const Scenario s = parse_scenario(text, "test.json");
  CHECK(s.model_name == "llama-2-7b");
  CHECK(s.model.layers[0].mixer.kv_heads == 8);
  CHECK(s.model.layers[0].mixer.window == 1024);
  CHECK(s.model.published_parameters == 0);
  const Scenario again = parse_scenario(to_json_text(s), "again.json");
  CHECK(again.model.layers == s.model.layers);
  CHECK(again.model_overrides == s.model_overrides);
  CHECK(to_json_text(again) == to_json_text(s));
}

TEST_CASE("a scenario may prune its model", "[unit]") {
  const Scenario preset = parse_scenario(
      scenario(R"({"base": "llama-3.1-8b", "pruning": "llama-3.1-minitron-4b-width"})"), "test.json");
  CHECK(preset.model.hidden_size == 3072);
  CHECK(preset.model.name == "llama-3.1-minitron-4b-width");
  const Scenario figures = parse_scenario(
      scenario(R"({"base": "llama-3.1-8b", "pruning": {"drop_layers": [20, 21]}})"), "test.json");
  CHECK(figures.model.num_hidden_layers() == 30);
  CHECK(parse_scenario(to_json_text(figures), "again.json").model.layers ==
        figures.model.layers);
}

TEST_CASE("--set turns a model's name into a block", "[unit]") {
  const std::vector<Assignment> sets = {{"model.pruning", "shortgpt-llama-2-7b", "--set"},
                                        {"model.num_key_value_heads", "32", "--set"}};
  const Scenario s = parse_scenario(scenario("\"llama-2-7b\""), "test.json", sets);
  CHECK(s.model.num_hidden_layers() == 23);
}

TEST_CASE("a wrong key of a model is refused where it stands", "[unit]") {
  const auto typo = refusal(R"({"base": "llama-2-7b", "num_key_value_head": 8})");
  CHECK(typo.place == "line 4: model.num_key_value_head");
  CHECK_THAT(typo.expected, ContainsSubstring("did you mean num_key_value_heads?"));
  CHECK(refusal(R"({"base": "llama-2-7b", "num_key_value_heads": 5})").place ==
        "line 4: model.num_key_value_heads");
  CHECK(refusal(R"({"base": "llama-2-7b", "pruning": {"hidden_size": 8192}})").place ==
        "line 4: model.pruning.hidden_size");
  CHECK(refusal(R"({"base": "llama-2-8b"})").place == "line 4: model.base");
  CHECK(refusal(R"({"num_key_value_heads": 8})").found == "no \"base\" in model");
  CHECK(refusal("7").place == "line 4: model");
}
