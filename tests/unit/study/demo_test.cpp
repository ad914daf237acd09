#include "sim/study/demo.h"

#include <set>

#include "sim/core/errors.h"
#include "sim/core/number_text.h"
#include "sim/study/lecture/demos.h"
#include "tests/support/catch.h"
#include "tests/support/run_program.h"
#include "tests/support/said_numbers.h"
#include "tests/support/temp_folder.h"

using namespace headway;
using test::computed_numbers;
using test::numbers;

namespace {

const TextTable& rows(const DemoAnswer& answer, std::size_t table = 0) {
  return answer.tables.at(table).rows;
}
double value(const TextTable& table, std::size_t row, std::size_t column) {
  std::string text;
  for (const char c : table.at(row).at(column)) {
    if (c != ' ' || text.empty()) text += c;
  }
  return std::stod(text);
}

}  // namespace

TEST_CASE("numbers are told from names", "[unit][study]") {
  CHECK(numbers("3 415 blocks in 2.5 s, int4 of llama-2, B = 16.") ==
        std::set<std::string>{"3415", "2.5", "16"});
}

// No demo says a number that its run did not compute.
TEST_CASE("every demo states a question and answers it with numbers of its own tables",
          "[unit][study]") {
  REQUIRE(demo_table().size() >= 12);
  for (const DemoEntry& demo : demo_table()) {
    INFO(std::string(demo.name));
    CHECK(demo.question.ends_with("?"));
    const DemoAnswer answer = demo.run(demo_scenario(demo));
    const std::set<std::string> computed = computed_numbers(answer);
    const std::set<std::string> said = numbers(answer.answer);
    CHECK(said.size() >= 2);
    for (const std::string& number : said) {
      INFO(number << " in: " << answer.answer);
      CHECK(computed.contains(number));
    }
    for (const DemoTable& table : answer.tables) {
      CHECK(table.rows.size() > 2);
      for (const auto& row : table.rows) CHECK(row.size() == table.rows.front().size());
    }
    for (const std::string& name : {std::string(demo.name), std::string(demo.name.substr(3)),
                                    std::to_string(std::stoi(std::string(demo.name)))}) {
      CHECK(find_demo(name).name == demo.name);
    }
  }
}

TEST_CASE("a demo's answer is written from its run", "[unit][study]") {
  CHECK_THROWS_WITH(find_demo("speculatoin"), ContainsSubstring("did you mean speculation"));
  CHECK_THROWS_AS(find_demo("0"), InputError);
  CHECK_THROWS_AS(find_demo("99"), InputError);
  const test::TempFolder folder;
  // Equal answers, all at once and as many as there are seats: the bus waits for nobody.
  const std::string equal = folder.write("equal.json", R"({
    "model": "llama-3.1-8b", "gpu": "h100-sxm", "profile": "roofline",
    "engine": {"max_num_seqs": 8, "max_model_len": 1024, "kv_allocator": "paged"},
    "workload": {"num_prompts": 8, "request_rate": "inf", "input_len": 100, "output_len": 50}})");
  const DemoAnswer bus = run_bus_demo(equal);
  CHECK(rows(bus)[1][1] == "8.0");
  CHECK_THAT(bus.answer, ContainsSubstring(rows(bus)[1][6]));  // the static batch's E2EL
  CHECK_THAT(bus.answer, ContainsSubstring("continuous batching loses"));
  // Another GPU: another batch that fits.
  const std::string larger = folder.write("larger.json", R"({
    "model": "llama-2-13b", "gpu": {"base": "h100-sxm", "memory_bytes": 241000000000},
    "workload": {"num_prompts": 8, "request_rate": "inf", "input_len": 1024, "output_len": 50}})");
  CHECK_THAT(run_batch_table_demo(larger).answer,
             ContainsSubstring("the largest batch that fits, 256,"));
}

TEST_CASE("the speculation demo's acceptance is the overlap, and a large batch gains less",
          "[unit][study]") {
  const DemoAnswer answer = run_speculation_demo("lecture/08-speculation");
  const TextTable& table = rows(answer);  // noise, overlap, accepted, tokens a pass, speed-ups
  for (std::size_t row = 1; row < table.size(); ++row) {
    const double overlap = value(table, row, 1), a = overlap;
    CHECK(value(table, row, 2) == Approx(overlap).margin(0.04));  // 2000 draws: 4 sigma
    CHECK(value(table, row, 3) == Approx((1 - a * a * a * a) / (1 - a)).epsilon(0.03));
    CHECK(value(table, row, 4) > 1);
    CHECK(value(table, row, 8) < value(table, row, 4));
  }
  const TextTable& two = rows(answer, 1);  // token, p, q, accepted, comes out with, drawn
  for (const std::size_t row : {1, 2}) {
    CHECK(value(two, row, 4) == value(two, row, 2));
    CHECK(value(two, row, 5) == Approx(value(two, row, 2)).margin(0.007));  // 4 sigma
  }
}

TEST_CASE("demos agree with what is known of them", "[unit][study]") {
  const DemoAnswer kv = run_kv_cache_demo("lecture/05-kv-cache");
  for (std::size_t row = 1; row < rows(kv).size(); ++row) {
    const double growth = value(rows(kv), row, 5);
    INFO(rows(kv)[row][0]);
    const bool bounded = rows(kv)[row][0].find("in all layers") != std::string::npos;
    CHECK((growth == 1) == bounded);
    CHECK(growth <= 1024);
  }
  const DemoAnswer chunking = run_chunking_demo("lecture/12-chunking");
  for (std::size_t row = 2; row < rows(chunking).size(); ++row) {
    CHECK(value(rows(chunking), row, 4) < value(rows(chunking), row - 1, 4));  // the longest gap
  }
  const DemoAnswer copies = run_copies_demo("lecture/13-copies");
  // 8.6e12 tokens a day against 32e12 of a training run.
  const DemoTable& scale = copies.tables.at(1);
  CHECK(scale.rows.at(1).at(1) == "8.6");
  CHECK(scale.rows.at(2).at(1) == "32.0");
  CHECK(scale.rows.at(2).at(3) == "3.72");
  const double one_copy = value(rows(copies), 1, 5) * 86'400;  // its output, tokens a day
  std::string needed = scale.rows.at(1).at(2);
  std::erase(needed, ' ');
  CHECK(std::stod(needed) == Approx(8.6e12 / one_copy).epsilon(0.001));
  for (std::size_t row = 1; row < rows(copies).size(); ++row) {
    CHECK(value(rows(copies), row, 6) == Approx(value(rows(copies), row, 0)).epsilon(0.01));
    CHECK(value(rows(copies), row, 3) == Approx(value(rows(copies), 1, 3)).epsilon(0.01));
  }
}
