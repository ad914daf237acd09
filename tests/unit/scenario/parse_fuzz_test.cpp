#include <array>
#include <filesystem>

#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "sim/scenario/parse.h"
#include "tests/support/catch.h"
#include "tests/support/mutate.h"

using namespace headway;

namespace {

constexpr int kMutations = 1500;  // of each seed: about a second in all

constexpr std::array<std::string_view, 24> kWords = {"{",
                                                     "}",
                                                     "[",
                                                     "]",
                                                     ",",
                                                     ":",
                                                     "\"",
                                                     "//",
                                                     "null",
                                                     "true",
                                                     "-1",
                                                     "0",
                                                     "1e999",
                                                     "NaN",
                                                     "\"inf\"",
                                                     "9223372036854775808",
                                                     "0.5",
                                                     "\n",
                                                     "\"model\"",
                                                     "\"trace\"",
                                                     "\"num_prompts\": 0",
                                                     "\\u0000",
                                                     "\xff",
                                                     "/*"};

std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  const std::string folder = std::string(HEADWAY_SOURCE_DIR) + "/tests/fuzz/seeds/scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    texts.push_back(read_whole_file(entry.path().string()));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

// Read and printed to the same, or refused as the user's mistake with words: nothing else.
bool parses(const std::string& text) {
  try {
    const Scenario scenario = parse_scenario(text, "fuzz.json");
    const std::string printed = to_json_text(scenario);
    REQUIRE(to_json_text(parse_scenario(printed, "fuzz.json")) == printed);
    return true;
  } catch (const InputError& error) {
    REQUIRE(std::string(error.what()).size() > 20);
    return false;
  }
}

}  // namespace

TEST_CASE("damaged scenarios are read or refused, never more", "[unit][scenario][fuzz]") {
  std::uint64_t seed = 20240531;
  int accepted = 0;
  REQUIRE(seeds().size() >= 3);
  for (const std::string& text : seeds()) {
    REQUIRE(parses(text));
    for (int i = 0; i < kMutations; ++i) {
      const std::string damaged = test::Mutator(++seed).mutate(text, kWords);
      INFO("mutation seed " << seed << "\n" << damaged);
      accepted += parses(damaged) ? 1 : 0;
    }
  }
  // Harmless damage (a blank, a digit) must get through, or the mutations test nothing but syntax.
  REQUIRE(accepted > 20);
}
