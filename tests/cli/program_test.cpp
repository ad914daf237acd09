#include <filesystem>

#include "sim/cli/catalogue_tables.h"
#include "sim/cli/command.h"
#include "sim/core/data_files.h"
#include "sim/scheduling/scheduler.h"
#include "sim/workload/trace_format.h"
#include "tests/support/catch.h"
#include "tests/support/run_program.h"

using namespace headway;
using test::ProgramResult;
using test::run_program;
using test::Stdout;

namespace {

// Three requests on the roofline: a run of milliseconds.
const char* const kSmall = R"({
  "model": "llama-3.1-8b", "gpu": "h100-sxm",
  "workload": {"num_prompts": 3, "request_rate": 2, "input_len": 100, "output_len": 5}
})";

void refused(const ProgramResult& result, const std::vector<std::string>& parts) {
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  for (const std::string& part : parts) CHECK_THAT(result.err, ContainsSubstring(part));
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++count;
  return count;
}

}  // namespace

TEST_CASE("help names every command, and each command explains itself", "[cli]") {
  const ProgramResult help = run_program({"help"});
  REQUIRE(help.exit_code == 0);
  REQUIRE(run_program({"--help"}).out == help.out);
  for (const CommandRow& row : command_table()) {
    const std::string name(row.name);
    CHECK_THAT(help.out, ContainsSubstring(name.substr(0, name.find(' '))));
    std::vector<std::string> words = {"help"};
    if (const auto space = name.find(' '); space != std::string::npos) {
      words.insert(words.end(), {name.substr(0, space), name.substr(space + 1)});
    } else {
      words.push_back(name);
    }
    const ProgramResult own = run_program(words);
    CHECK(own.exit_code == 0);
    CHECK_THAT(own.out, ContainsSubstring(std::string(row.help)));
  }
  const ProgramResult keys = run_program({"help", "scenario"});
  CHECK_THAT(keys.out, ContainsSubstring("engine.max_num_seqs"));
  CHECK_THAT(keys.out, ContainsSubstring("workload.request_rate"));
}

TEST_CASE("version says what was built", "[cli]") {
  const ProgramResult version = run_program({"version"});
  REQUIRE(version.exit_code == 0);
  REQUIRE(version.out.starts_with("headway 0."));
  for (const char* part : {"compiler ", "Boost 1.", "CUDA ", "report page "}) {
    REQUIRE_THAT(version.out, ContainsSubstring(part));
  }
}

TEST_CASE("a mistyped command line exits 2 with the nearest word", "[cli]") {
  refused(run_program({}), {"no command", "compare"});
  refused(run_program({"runn", "demo"}), {"unknown command runn", "did you mean run?"});
  refused(run_program({"trace", "inspekt"}), {"unknown command inspekt", "did you mean inspect?"});
  refused(run_program({"run", "demo", "--requsts", "x"}),
          {"unknown flag --requsts", "did you mean --requests?"});
  refused(run_program({"run"}), {"scenario"});
  refused(run_program({"run", "demo", "--seed", "-1"}), {"--seed", "\"-1\"", "whole number"});
  refused(run_program({"run", "demo", "--limit", "0"}), {"--limit", "\"0\"", "at least 1"});
  refused(run_program({"run", "demo", "--set", "engine"}), {"--set", "\"engine\"", "KEY=VALUE"});
  refused(run_program({"list", "modles"}), {"\"modles\"", "did you mean models?"});
  refused(run_program({"help", "rnu"}), {"\"rnu\"", "did you mean run?"});
  refused(run_program({"compare", "demo"}), {"nothing to compare", "--vary"});
}

TEST_CASE("list prints every row of its table", "[cli]") {
  const ProgramResult schedulers = run_program({"list", "schedulers"});
  REQUIRE(schedulers.exit_code == 0);
  for (const SchedulerEntry& row : scheduler_table()) {
    CHECK_THAT(schedulers.out, ContainsSubstring(std::string(row.name)));
    CHECK_THAT(schedulers.out, ContainsSubstring(std::string(row.help)));
  }
  const ProgramResult formats = run_program({"list", "formats"});
  for (const TraceFormat& row : trace_formats())
    CHECK_THAT(formats.out, ContainsSubstring(row.name));
  for (const char* kind : {"models", "gpus", "profiles", "scenarios"}) {
    const ProgramResult listed = run_program({"list", kind});
    INFO(kind << listed.err);
    CHECK(listed.exit_code == 0);
    REQUIRE_FALSE(catalogue_names(kind).empty());
    for (const std::string& name : catalogue_names(kind))
      CHECK_THAT(listed.out, ContainsSubstring(name));
  }
  CHECK_THAT(run_program({"list", "models", "--json"}).out,
             ContainsSubstring("\"name\": \"qwen3-14b\""));
}

TEST_CASE("list keeps the names that begin so", "[cli]") {
  const ProgramResult listed = run_program({"list", "models", "qwen3"});
  REQUIRE(listed.exit_code == 0);
  CHECK(listed.out.starts_with("name "));
  CHECK_THAT(listed.out, ContainsSubstring("qwen3-14b"));
  CHECK_THAT(listed.out, !ContainsSubstring("llama"));
  refused(run_program({"list", "models", "--accuracy"}), {"--accuracy", "profiles"});
}

TEST_CASE("run prints the report and writes the files that were asked for", "[cli]") {
  const test::TempFolder folder;
  folder.write("s.json", kSmall);
  const ProgramResult result = run_program(
      {"run", "s.json", "--save-result", "r.json", "--requests", "q.csv", "--steps", "t.csv"},
      Stdout::kCaptured, folder.path());
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.out, ContainsSubstring("Mean TTFT (ms):"));
  CHECK_THAT(test::read_text(folder / "r.json"), ContainsSubstring("\"completed\": 3"));
  CHECK_THAT(test::read_text(folder / "r.json"), ContainsSubstring("\"fingerprint\""));
  const std::string requests = test::read_text(folder / "q.csv");
  CHECK(std::count(requests.begin(), requests.end(), '\n') == 4);  // the heading and three requests
  CHECK(requests.starts_with("request_id,"));
  CHECK(test::read_text(folder / "t.csv").starts_with("replica,step,"));
  CHECK(folder.entries() == 4);
}

TEST_CASE("the requests file tells tenants and priorities, which a replay of it has too", "[cli]") {
  const test::TempFolder folder;
  const std::string scenario = folder.write("s.json", kSmall);
  const ProgramResult plain = run_program({"run", scenario, "--requests", "-", "-q"});
  CHECK_THAT(plain.out, !ContainsSubstring("tenant"));
  const ProgramResult first =
      run_program({"run", scenario, "--set", "workload.num_prompts=40", "--set",
                   "workload.tenants=[{\"share\": 1, \"priority\": 7}, {\"share\": 1}]",
                   "--requests", "-", "-q"});
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  CHECK_THAT(first.out, ContainsSubstring(",slo_ok,tenant,priority\n"));
  CHECK_THAT(first.out, ContainsSubstring(",length,,0,7\n"));
  CHECK_THAT(first.out, ContainsSubstring(",length,,1,0\n"));
  const ProgramResult again = run_program(
      {"run", "-", "--requests", "-", "-q"}, Stdout::kCaptured, "",
      R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "workload": {"trace": ")" +
          folder.write("q.csv", first.out) + R"("}})");
  INFO(again.err);
  REQUIRE(again.exit_code == 0);
  for (const char* end : {",0,7\n", ",1,0\n"}) {
    CHECK(occurrences(again.out, end) == occurrences(first.out, end));
    CHECK(occurrences(first.out, end) > 0);
  }
}

TEST_CASE("the printed scenario runs to the same end", "[cli]") {
  const test::TempFolder folder;
  const std::string first = folder.write("s.json", kSmall);
  const ProgramResult printed =
      run_program({"run", first, "--print-scenario", "--set", "engine.max_num_seqs=2"});
  REQUIRE(printed.exit_code == 0);
  CHECK_THAT(printed.out, ContainsSubstring("\"max_num_seqs\": 2"));
  const std::string second = folder.write("p.json", printed.out);
  const ProgramResult a =
      run_program({"run", first, "--set", "engine.max_num_seqs=2", "--requests", "-", "-q"});
  const ProgramResult b = run_program({"run", second, "--requests", "-", "-q"});
  REQUIRE(a.exit_code == 0);
  REQUIRE(a.out.starts_with("request_id,"));
  REQUIRE(a.out == b.out);
  CHECK(a.err.empty());
}

TEST_CASE("a scenario comes from stdin, and a limit and a seed from flags", "[cli]") {
  const ProgramResult result =
      run_program({"run", "-", "--limit", "2", "--seed", "5", "--save-result", "-"},
                  Stdout::kCaptured, "", kSmall);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.out, ContainsSubstring("\"completed\": 2"));
  CHECK_THAT(result.out, ContainsSubstring("\"seed\": 5"));
  CHECK(result.out.front() == '{');                        // data alone on stdout
  CHECK_THAT(result.err, ContainsSubstring("Mean TTFT"));  // the block is talk then
}

TEST_CASE("compare prints one table over identical arrivals", "[cli]") {
  const test::TempFolder folder;
  folder.write("s.json", kSmall);
  const ProgramResult result = run_program(
      {"compare", "s.json", "--vary", "engine.max_num_seqs=1,8", "--save-result", "c.json"},
      Stdout::kCaptured, folder.path());
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.out, ContainsSubstring("TTFT"));
  CHECK_THAT(test::read_text(folder / "c.json"), ContainsSubstring("\"results\""));
  const ProgramResult markdown =
      run_program({"compare", "s.json", "--vary", "engine.max_num_seqs=1,8", "--markdown"},
                  Stdout::kCaptured, folder.path());
  CHECK_THAT(markdown.out, ContainsSubstring("| 8 |"));
  refused(run_program(
              {"compare", "s.json", "--vary", "engine.max_num_seqs=8,0", "--save-result", "d.json"},
              Stdout::kCaptured, folder.path()),
          {"command line", "--vary engine.max_num_seqs", "found 0"});
  CHECK(folder.entries() == 2);  // d.json never came to be
}

TEST_CASE("a bad scenario exits 2, says where, and leaves no file", "[cli]") {
  const test::TempFolder folder;
  const auto run = [&](const std::string& text) {
    folder.write("s.json", text);
    ProgramResult result = run_program(
        {"run", "s.json", "--save-result", "r.json", "--requests", "q.csv", "--steps", "t.csv"},
        Stdout::kCaptured, folder.path());
    INFO(text);
    CHECK(folder.entries() == 1);
    return result;
  };
  refused(
      run(R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "workload": {"num_prompts": 1}, "sede": 1})"),
      {"s.json: line 1: sede", "did you mean seed?"});
  refused(run(R"({"model": "llama-3.1-8", "gpu": "h100-sxm", "workload": {"num_prompts": 1}})"),
          {"line 1: model", "did you mean llama-3.1-8b?"});
  refused(
      run(R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "profile": "a100-sxm/vllm-0.14.0", )"
          R"("workload": {"num_prompts": 1}})"),
      {"line 1: profile", "a100-sxm"});
  refused(run(R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "workload": {"trace": "none.csv"}})"),
          {"line 1: workload.trace", "none.csv"});
  refused(run(R"({"model": "llama-2-70b", "gpu": "rtx-4090", "workload": {"num_prompts": 1}})"),
          {"model", "rtx-4090", "too little", "tensor_parallel_size"});
  refused(run("{"), {"s.json: line "});
  refused(run_program({"run", "no-such.json"}), {"no-such.json", "no such file"});
  refused(run_program({"run", folder.path()}), {folder.path(), "folder"});
}

TEST_CASE("a trace with nothing to run or with faults exits 2", "[cli]") {
  const test::TempFolder folder;
  folder.write("s.json",
               R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "workload": {"trace": "t.csv"}})");
  const auto run = [&](const std::string& csv) {
    folder.write("t.csv", csv);
    INFO(csv);
    ProgramResult result =
        run_program({"run", "s.json", "--save-result", "r.json"}, Stdout::kCaptured, folder.path());
    CHECK(folder.entries() == 2);
    return result;
  };
  refused(run("arrival_s,input_tokens,output_tokens\n"), {"t.csv"});
  refused(run("arrival_s,input_tokens\n0,10\n"), {"t.csv", "output_tokens"});
  refused(run("arrival_s,input_tokens,output_tokens\n0,-4,10\n"), {"t.csv", "line 2", "-4"});
  refused(run("arrival_s,input_tokens,output_tokens\nnan,4,10\n"), {"t.csv", "line 2", "nan"});
}

TEST_CASE("a request longer than max_model_len is refused alone", "[cli]") {
  const ProgramResult result =
      run_program({"run", "-", "--save-result", "-"}, Stdout::kCaptured, "",
                  R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "engine": {"max_model_len": 64},
          "workload": {"num_prompts": 3, "request_rate": 2, "input_len": 100, "output_len": 5}})");
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.out, ContainsSubstring("\"failed\": 3"));
  CHECK_THAT(result.err, ContainsSubstring("3 requests failed"));
}

TEST_CASE("a full disk and a closed pipe are reported, not died of", "[cli]") {
  const test::TempFolder folder;
  const std::string file = folder.write("s.json", kSmall);
  for (const Stdout where : {Stdout::kFullDisk, Stdout::kClosedPipe}) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"list", "gpus"},
          {"help"},
          {"version"},
          {"run", file, "--save-result", folder / "r.json"},
          {"run", file, "--requests", "-"},
          {"compare", file, "--vary", "seed=1,2"}}) {
      const ProgramResult result = run_program(command, where);
      INFO(command.front() << ": " << result.err);
      CHECK(result.exit_code == 2);
      CHECK_THAT(result.err, ContainsSubstring("standard output"));
      CHECK(folder.entries() == 1);
    }
  }
  refused(run_program({"run", file, "--save-result", "/no/such/folder/r.json"}),
          {"/no/such/folder/r.json"});
  refused(run_program({"run", file, "--save-result", "x", "--steps", "x"}, Stdout::kCaptured,
                      folder.path()),
          {"--steps", "two outputs"});
  CHECK(folder.entries() == 1);
}

TEST_CASE("trace inspect and convert", "[cli]") {
  const test::TempFolder folder;
  folder.write("t.csv", "arrival_s,input_tokens,output_tokens\n0,10,1\n1,20,2\n3,60,3\n");
  const ProgramResult seen =
      run_program({"trace", "inspect", "t.csv", "--json"}, Stdout::kCaptured, folder.path());
  INFO(seen.err);
  REQUIRE(seen.exit_code == 0);
  CHECK_THAT(seen.out, ContainsSubstring("\"requests\": 3"));
  CHECK_THAT(seen.out, ContainsSubstring("\"span_s\": 3.0"));
  CHECK_THAT(run_program({"trace", "inspect", "t.csv"}, Stdout::kCaptured, folder.path()).out,
             ContainsSubstring("requests        3"));
  const ProgramResult converted =
      run_program({"trace", "convert", "t.csv", "-o", "-", "--limit", "2", "-q"}, Stdout::kCaptured,
                  folder.path());
  INFO(converted.err);
  REQUIRE(converted.exit_code == 0);
  CHECK(std::count(converted.out.begin(), converted.out.end(), '\n') == 3);
  refused(run_program({"trace", "convert", "t.csv"}, Stdout::kCaptured, folder.path()), {"-o"});
  refused(run_program({"trace", "inspect", "none.csv"}), {"none.csv"});
}

TEST_CASE("import refuses what it cannot read", "[cli]") {
  const test::TempFolder folder;
  refused(run_program({"import", "vidurr", folder.path(), "-o", folder / "out"}),
          {"\"vidurr\"", "did you mean"});
  refused(run_program({"import", "aiconfigurator", folder.path()}), {"-o"});
  CHECK(folder.entries() == 0);
}

TEST_CASE("every scenario of the catalogue parses", "[cli]") {
  for (const std::string& name : catalogue_names("scenarios")) {
    const ProgramResult printed = run_program({"run", name, "--print-scenario"});
    INFO(name << ": " << printed.err);
    CHECK(printed.exit_code == 0);
  }
}
