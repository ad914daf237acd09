#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/run_program.h"

using namespace headway;
using test::ProgramResult;
using test::read_text;
using test::Stdout;

namespace {

namespace fs = std::filesystem;

const char* const kScenario = R"({
  "model": "llama-3.1-8b", "gpu": "h100-sxm",
  "workload": {"num_prompts": 20, "request_rate": 2, "input_len": 100, "output_len": 5},
  "slo": {"ttft_ms": 1000}
})";

// Twelve points; those of the large model do not fit.
const char* const kPlan = R"({
  "scenario": "s.json",
  "axes": {"model": ["llama-3.1-8b", "llama-3.1-70b"],  // 141 GB of weights
           "engine.scheduler": ["orca", "vllm-v1", "sarathi"]},
  "seeds": 2
})";

class SweepTest {
 public:
  SweepTest() {
    folder_.write("s.json", kScenario);
    folder_.write("p.json", kPlan);
  }
  ProgramResult run(const std::vector<std::string>& words) const {
    return test::run_program(words, Stdout::kCaptured, folder_.path());
  }
  // Runs and requires that exit code.
  std::string sweep(const std::vector<std::string>& more, int exit_code = 0) const {
    std::vector<std::string> words = {"sweep", "p.json"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = run(words);
    INFO(result.err);
    CHECK(result.exit_code == exit_code);
    CHECK(result.out.empty());
    return result.err;
  }
  // Both tables as one text.
  std::string merged(const std::string& dir) const {
    const ProgramResult result = run({"sweep", "merge", dir});
    INFO(result.err);
    CHECK(result.exit_code == 0);
    return read_text(folder_ / (dir + "/results.csv")) +
           read_text(folder_ / (dir + "/results.json"));
  }
  std::string point(const std::string& dir, const std::string& name) const {
    return folder_ / (dir + "/points/" + name + ".json");
  }
  const test::TempFolder& folder() const { return folder_; }

 private:
  test::TempFolder folder_;
};

// An environment variable for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

std::string line_of(const std::string& text, int number) {
  std::size_t begin = 0;
  for (int i = 0; i < number; ++i) begin = text.find('\n', begin) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("threads, one thread, shards in any order and launchers merge to the same bytes",
          "[cli][sweep]") {
  const SweepTest test;
  test.sweep({"-o", "threads", "-j", "3"});
  const std::string expected = test.merged("threads");
  test.sweep({"-o", "one", "-j", "1"});
  CHECK(test.merged("one") == expected);
  for (const char* shard : {"2/4", "0/4", "3/4", "1/4"}) {
    test.sweep({"-o", "parts", "--shard", shard});
  }
  CHECK(test.merged("parts") == expected);
  for (const char* id : {"11", "10"}) {
    const Variable task("SLURM_ARRAY_TASK_ID", id), min("SLURM_ARRAY_TASK_MIN", "10"),
        count("SLURM_ARRAY_TASK_COUNT", "2");
    const std::string said = test.sweep({"-o", "slurm"});
    CHECK_THAT(said, ContainsSubstring("of 2, by SLURM_ARRAY_TASK_ID"));
  }
  CHECK(test.merged("slurm") == expected);

  // The heading, then a row for each point in plan order.
  CHECK(line_of(expected, 0)
            .starts_with("point,model,engine.scheduler,seed,status,gpus,completed,"));
  CHECK(line_of(expected, 1).starts_with("0,llama-3.1-8b,orca,0,ok,1,20,0,"));
  CHECK(line_of(expected, 6).starts_with("5,llama-3.1-8b,sarathi,1,ok,1,20,0,"));
  CHECK(line_of(expected, 12).starts_with("11,llama-3.1-70b,sarathi,1,refused,,"));
  CHECK_THAT(line_of(expected, 12), ContainsSubstring("which needs"));
  // The arrivals are drawn from the seed alone: schedulers meet the same ones.
  CHECK(line_of(expected, 1) != line_of(expected, 2));
  for (const char* said : {"\"date\":null", "\"wall_s\":null"}) {
    CHECK_THAT(expected, ContainsSubstring(said));
  }
}

TEST_CASE("a flag wins over the launcher's variables", "[cli][sweep]") {
  const SweepTest test;
  const Variable task("SLURM_ARRAY_TASK_ID", "0"), count("SLURM_ARRAY_TASK_COUNT", "6");
  CHECK_THAT(test.sweep({"-o", "d", "--shard", "0/1"}), ContainsSubstring("12 points: 6 run"));
  const Variable bad("SLURM_ARRAY_TASK_MIN", "many");
  CHECK_THAT(test.sweep({"-o", "d"}, 2), ContainsSubstring("SLURM_ARRAY_TASK_MIN"));
}

TEST_CASE("a rerun does what is missing or damaged and nothing else", "[cli][sweep]") {
  const SweepTest test;
  const std::string all = test.sweep({"-o", "d"});
  CHECK_THAT(all, ContainsSubstring("12 points: 6 run, 6 refused"));
  const std::string expected = test.merged("d");
  CHECK_THAT(test.sweep({"-o", "d", "--resume"}),
             ContainsSubstring("12 points: 0 run, 12 finished before"));

  const std::string untouched = test.point("d", "000001");
  const auto written = fs::last_write_time(untouched);
  fs::remove(test.point("d", "000003"));
  fs::resize_file(test.point("d", "000000"), 1000);
  fs::resize_file(test.point("d", "000005"), 0);
  test.folder().write("d/points/000004.json", read_text(untouched));  // another point's result
  const ProgramResult missing = test.run({"sweep", "merge", "d"});
  CHECK(missing.exit_code == 3);
  CHECK_THAT(missing.err, ContainsSubstring("4 of 12 points are missing: 0, 3-5"));
  CHECK_THAT(test.sweep({"-o", "d"}), ContainsSubstring("12 points: 4 run, 8 finished before"));
  CHECK(fs::last_write_time(untouched) == written);
  CHECK(test.merged("d") == expected);

  CHECK_THAT(test.sweep({"-o", "d", "--force"}), ContainsSubstring("12 points: 6 run, 6 refused"));
  CHECK(test.merged("d") == expected);
}

TEST_CASE("an incomplete merge writes nothing, unless it may be partial", "[cli][sweep]") {
  const SweepTest test;
  test.sweep({"-o", "d", "--shard", "1/3"});
  const ProgramResult refused = test.run({"sweep", "merge", "d"});
  CHECK(refused.exit_code == 3);
  CHECK_THAT(refused.err, ContainsSubstring("8 of 12 points are missing"));
  CHECK_FALSE(fs::exists(test.folder() / "d/results.csv"));
  CHECK_FALSE(fs::exists(test.folder() / "d/results.json"));
  const ProgramResult partial =
      test.run({"sweep", "merge", "d", "--partial", "--csv", "-", "--json", "x.json"});
  CHECK(partial.exit_code == 0);
  CHECK(std::count(partial.out.begin(), partial.out.end(), '\n') == 13);
  CHECK_THAT(partial.out, ContainsSubstring(",missing,"));
  CHECK(fs::exists(test.folder() / "x.json"));
}

TEST_CASE("a folder of another plan or version is refused as it is", "[cli][sweep]") {
  const SweepTest test;
  test.sweep({"-o", "d"});
  const std::string before = test.merged("d");
  test.folder().write("p.json", R"({"scenario": "s.json", "seeds": 3})");
  for (const char* force : {"--resume", "--force"}) {
    CHECK_THAT(test.sweep({"-o", "d", force}, 2), ContainsSubstring("another plan"));
  }
  CHECK(test.merged("d") == before);
  // The same plan under another name is the same plan.
  test.folder().write("p.json", kPlan);
  CHECK_THAT(test.sweep({"-o", "d"}), ContainsSubstring("12 finished before"));

  std::string point = read_text(test.point("d", "000002"));
  const std::size_t version = point.find("\"version\": \"") + 12;
  point.insert(version, "9.");
  test.folder().write("d/points/000002.json", point);
  CHECK_THAT(test.sweep({"-o", "d"}, 2), ContainsSubstring("point 2: found a result of version"));
  CHECK(test.run({"sweep", "merge", "d"}).exit_code == 2);
  test.sweep({"-o", "d", "--force"});
  CHECK(test.merged("d") == before);

  test.folder().write("e/plan.json", "{}");
  CHECK_THAT(test.sweep({"-o", "e"}, 2), ContainsSubstring("no plan"));
  CHECK(test.run({"sweep", "merge", "nowhere"}).exit_code == 2);
  test.folder().write("file", "");
  CHECK_THAT(test.sweep({"-o", "file"}, 2), ContainsSubstring("file"));
}

TEST_CASE("a point that fails leaves the rest alone, and is tried again", "[cli][sweep]") {
  const SweepTest test;
  test.folder().write("t.csv", "arrival_s,input_tokens,output_tokens\n0,100,5\n1,100,5\n");
  test.folder().write("u.csv", "arrival_s,input_tokens,output_tokens\n0,100,5\n1,many,5\n");
  test.folder().write("s.json", R"({"model": "llama-3.1-8b", "gpu": "h100-sxm",
                                    "workload": {"trace": "t.csv"}})");
  test.folder().write("p.json", R"({"scenario": "s.json",
                                    "axes": {"workload.trace": ["u.csv", "t.csv"]}})");
  CHECK_THAT(test.sweep({"-o", "d"}, 3), ContainsSubstring("1 of 2 points failed"));
  const ProgramResult merge = test.run({"sweep", "merge", "d"});
  CHECK(merge.exit_code == 3);
  CHECK_THAT(merge.err, ContainsSubstring("1 points failed: 0"));
  const std::string csv = read_text(test.folder() / "d/results.csv");
  CHECK(line_of(csv, 1).starts_with("0,u.csv,failed,"));
  CHECK_THAT(line_of(csv, 1), ContainsSubstring("many"));
  CHECK(line_of(csv, 2).starts_with("1,t.csv,ok,1,2,0,"));
  test.folder().write("u.csv", "arrival_s,input_tokens,output_tokens\n0,100,5\n1,100,5\n");
  CHECK_THAT(test.sweep({"-o", "d"}), ContainsSubstring("2 points: 1 run, 1 finished before"));
}

TEST_CASE("nothing is begun of a plan with a mistake in its last point", "[cli][sweep]") {
  const SweepTest test;
  test.folder().write("p.json", R"({"scenario": "s.json",
                                    "axes": {"engine.scheduler": ["orca", "orka"]}})");
  CHECK_THAT(test.sweep({"-o", "d"}, 2), ContainsSubstring("axes.engine.scheduler"));
  CHECK_FALSE(fs::exists(test.folder() / "d"));
}

TEST_CASE("the words of a sweep", "[cli][sweep]") {
  const SweepTest test;
  const ProgramResult dry = test.run({"sweep", "p.json", "--dry-run"});
  CHECK(dry.exit_code == 0);
  CHECK(line_of(dry.out, 11) == "11 model=llama-3.1-70b, engine.scheduler=sarathi, seed=1");
  CHECK(test.folder().entries() == 2);
  CHECK_THAT(test.run({"sweep"}).err, ContainsSubstring("no plan"));
  CHECK_THAT(test.run({"sweep", "p.json", "--frce"}).err,
             ContainsSubstring("did you mean --force?"));
  CHECK_THAT(test.sweep({"--shard", "4/4"}, 2), ContainsSubstring("I from 0 to N-1"));
  CHECK_THAT(test.sweep({"--force", "--resume"}, 2), ContainsSubstring("both"));
  CHECK_THAT(test.sweep({"--mpi", "--shard", "0/2"}, 2), ContainsSubstring("both"));
  CHECK_THAT(test.run({"sweep", "merge", "d", "--parcial"}).err,
             ContainsSubstring("did you mean --partial?"));
  test.sweep({});  // without -o
  CHECK(fs::exists(test.folder() / "sweep-p/plan.json"));
}
