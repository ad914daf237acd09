// --report of run, compare and capacity, as a user calls them; report_browser_test.mjs opens the pages.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/report/html_page.h"
#include "tests/support/catch.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_folder.h"

using namespace headway;
using namespace headway::test;

namespace {

const char* const kSmall =
    R"({"name": "it's <small>", "model": "llama-3.1-8b", "gpu": "h100-sxm", "profile": "roofline",
  "slo": {"ttft_ms": 200, "tpot_ms": 50},
  "workload": {"num_prompts": 60, "request_rate": 6, "input_len": 500,
               "output_len": {"distribution": "uniform", "low": 5, "high": 60}}})";

nlohmann::json data_of(const std::string& path) {
  const std::string html = read_text(path), start = "id=\"report-data\">";
  const std::size_t begin = html.find(start) + start.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

bool has_page() { return !report_page().html.empty(); }

}  // namespace

TEST_CASE("a program without its report page says so before the run", "[cli]") {
  if (has_page()) return;
  const TempFolder folder;
  const ProgramResult result =
      run_program({"run", folder.write("s.json", kSmall), "--report", folder / "r.html"});
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, ContainsSubstring("--report") && ContainsSubstring("npm"));
  CHECK(folder.entries() == 1);
}

TEST_CASE("run --report writes what the run says, with the command that made it", "[cli]") {
  if (!has_page()) return;
  const TempFolder folder;
  const std::string scenario = folder.write("s.json", kSmall), report = folder / "r 1.html";
  const ProgramResult result =
      run_program({"run", scenario, "--report", report, "--save-result", folder / "r.json"});
  REQUIRE(result.exit_code == 0);
  const auto data = data_of(report);
  const auto saved = nlohmann::json::parse(read_text(folder / "r.json"));
  CHECK(data.at("kind") == "run");
  CHECK(data.at("title") == "it's <small>");
  CHECK(data.at("command").get<std::string>().starts_with("headway run " + scenario + " --report '"));
  CHECK(data.at("scenario") == saved.at("headway").at("scenario"));
  const auto& shown = data.at("runs").at(0).at("summary");
  CHECK(shown.at("p99_ttft_ms") == saved.at("p99_ttft_ms"));
  CHECK(shown.at("headway").at("fingerprint") == saved.at("headway").at("fingerprint"));
  // The curve's points are the run's percentiles, to five digits.
  const auto& curves = data.at("runs").at(0).at("curves");
  for (std::size_t i = 0; i < curves.at("shares").size(); ++i) {
    if (curves.at("shares")[i] == 0.99) {
      CHECK(curves.at("itl_ms")[i].get<double>() ==
            Approx(saved.at("p99_itl_ms").get<double>()).epsilon(1e-4));
    }
  }
  double tokens = 0;
  const auto& history = data.at("runs").at(0).at("history");
  const auto& rates = history.at("output_tokens_per_s");
  for (std::size_t i = 0; i + 1 < rates.size(); ++i) {  // the last column is shorter than the others
    tokens += rates[i].get<double>() * history.at("count_width_s").get<double>();
  }
  CHECK(tokens == Approx(saved.at("total_output_tokens").get<double>()).epsilon(0.02));
}

TEST_CASE("compare --report shows the variants of its table", "[cli]") {
  if (!has_page()) return;
  const TempFolder folder;
  const std::string scenario = folder.write("s.json", kSmall), report = folder / "r.html";
  const ProgramResult result = run_program({"compare", scenario, "--vary", "engine.max_num_seqs=2,64",
                                            "--replicates", "2", "--report", report});
  REQUIRE(result.exit_code == 0);
  const auto data = data_of(report);
  REQUIRE(data.at("runs").size() == 2);
  CHECK(data.at("runs")[0].at("label") == "2");
  CHECK(data.at("runs")[1].at("changes").at("/engine/max_num_seqs") == 64);
  CHECK(data.at("compare").at("rows").size() == 2);
  CHECK(data.at("compare").at("columns").size() > 10);
  CHECK(data.at("compare").at("paired").at(0).at("pairs") == 2);
  CHECK(data.at("pareto").at("tried") == 2);
}

TEST_CASE("capacity --report shows every run that was tried", "[cli]") {
  if (!has_page()) return;
  const TempFolder folder;
  const std::string scenario = folder.write("s.json", kSmall), report = folder / "r.html";
  const ProgramResult result = run_program({"capacity", scenario, "--slo", "ttft:p99:150",
                                            "--seeds", "2", "--json", "--report", report});
  REQUIRE(result.exit_code == 0);
  const auto answer = nlohmann::json::parse(result.out);
  const auto study = data_of(report).at("capacity");
  CHECK(study.at("answer") == answer.at("answer"));
  CHECK(study.at("tried").size() == answer.at("runs").get<std::size_t>());
  double before = 0;
  for (const auto& run : study.at("tried")) {
    CHECK(run.at("load").get<double>() >= before);
    before = run.at("load").get<double>();
    CHECK(run.at("good").get<bool>() == run.at("miss").get<std::string>().empty());
    const bool within = run.at("targets_ms").at(0).get<double>() <= 150;
    if (run.at("good").get<bool>()) CHECK(within);
  }
  CHECK(data_of(report).at("runs").size() == 1);
}

TEST_CASE("capacity --plan --report shows every setup, and the front of those that can run", "[cli]") {
  if (!has_page()) return;
  const TempFolder folder;
  folder.write("s.json", kSmall);
  const std::string plan = folder.write("p.json", R"({"scenario": "s.json", "set": {"slo": {}},
    "axes": {"parallel.tensor_parallel_size": [1, 2, 3], "engine.max_num_seqs": [4, 64]}})");
  const std::string report = folder / "r.html";
  REQUIRE(run_program({"capacity", "--plan", plan, "--fixed-load", "--report", report}).exit_code == 0);
  const auto data = data_of(report);
  CHECK(data.at("kind") == "plan");
  CHECK(data.at("plan").at("setups").size() == 6);
  std::int64_t fine = 0, refused = 0, front = 0;
  for (const auto& setup : data.at("plan").at("setups")) {
    fine += setup.at("status") == "ok" ? 1 : 0;
    refused += setup.at("reason").get<std::string>().empty() ? 0 : 1;
    front += setup.value("on_front", false) ? 1 : 0;
  }
  CHECK(fine == 4);
  CHECK(refused == 2);  // 32 heads on three GPUs
  CHECK(data.at("pareto").at("tried") == 4);
  CHECK(static_cast<std::int64_t>(data.at("pareto").at("points").size()) == front);
}

TEST_CASE("a report that cannot be written, or has another output's name, is refused at once", "[cli]") {
  if (!has_page()) return;
  const TempFolder folder;
  const std::string scenario = folder.write("s.json", kSmall), name = folder / "x";
  const auto refused = [&](std::vector<std::string> words, const std::string& part) {
    const ProgramResult result = run_program(words);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, ContainsSubstring(part));
    CHECK(folder.entries() == 1);
  };
  for (const std::string command : {"run", "compare", "capacity"}) {
    std::vector<std::string> words = {command, scenario};
    if (command == "compare") words.insert(words.end(), {"--vary", "seed=1,2"});
    if (command == "capacity") words.insert(words.end(), {"--slo", "ttft:p99:150"});
    std::vector<std::string> unwritable = words;
    unwritable.insert(unwritable.end(), {"--report", "/nonexistent/r.html"});
    refused(unwritable, "/nonexistent/r.html");
    words.insert(words.end(), {"--save-result", name, "--report", name});
    refused(words, "for two outputs");
  }
}

TEST_CASE("a report of a run in which every request was refused says so", "[cli]") {
  if (!has_page()) return;
  const TempFolder folder;
  const std::string scenario = folder.write("s.json", kSmall), report = folder / "r.html";
  const ProgramResult result =
      run_program({"run", scenario, "--set", "engine.max_model_len=64", "--report", report});
  REQUIRE(result.exit_code == 0);
  const auto data = data_of(report);
  CHECK(data.at("runs").at(0).at("summary").at("completed") == 0);
  CHECK(data.at("runs").at(0).at("summary").at("failed") == 60);
  // A reason for each length of answers: the first are named, the others counted.
  REQUIRE(data.at("notes").size() == 9);
  CHECK_THAT(data.at("notes").at(0).get<std::string>(),
             ContainsSubstring("failed: prompt 500 + output"));
  CHECK_THAT(data.at("notes").at(8).get<std::string>(), ContainsSubstring("more notes"));
}
