// headway profile: what it refuses, and a small profile of this machine's CPU from end to end.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/core/errors.h"
#include "sim/cost/profile.h"
#include "tests/support/catch.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_folder.h"

using namespace headway;
using test::ProgramResult;
using test::run_program;
using test::TempFolder;

namespace {

void refused(const ProgramResult& result, const std::vector<std::string>& parts) {
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  for (const std::string& part : parts) CHECK_THAT(result.err, ContainsSubstring(part));
}

bool has_gpu() {
  std::error_code ec;
  return std::filesystem::exists("/dev/nvidiactl", ec);
}

}  // namespace

TEST_CASE("profile refuses before it measures", "[cli]") {
  refused(run_program({"profile"}), {"--device", "one of cuda, cpu"});
  refused(run_program({"profile", "--device", "gpu"}), {"\"gpu\"", "did you mean cpu?"});
  refused(run_program({"profile", "--device", "cpu", "--grid", "quik"}),
          {"\"quik\"", "did you mean quick?"});
  refused(run_program({"profile", "--device", "cpu", "--kernel", "rmsnrom"}),
          {"unknown kernel", "did you mean rmsnorm?"});
  refused(run_program({"profile", "--device", "cpu", "--model", "toy-lama-12m"}),
          {"--model", "toy-llama-12m"});
  refused(run_program({"profile", "--device", "cpu", "--model", "llama-3.1-8b:tp3"}), {"divisor"});
  refused(run_program({"profile", "--devise", "cpu"}), {"did you mean --device?"});
}

TEST_CASE("an output folder that cannot be is refused at once", "[cli]") {
  TempFolder folder;
  folder.write("file", "in the way");
  refused(run_program({"profile", "--device", "cpu", "-o", folder / "file"}), {folder / "file"});
  refused(run_program({"profile", "--device", "cpu", "-o", folder / "file/below"}), {"file"});
  if (::geteuid() == 0) return;  // root writes everywhere
  std::filesystem::create_directory(folder / "locked");
  std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_read |
                                                      std::filesystem::perms::owner_exec);
  refused(run_program({"profile", "--device", "cpu", "-o", folder / "locked"}), {"locked"});
  std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_all);
}

TEST_CASE("a machine without a GPU says so", "[cli]") {
  if (has_gpu()) return;
  refused(run_program({"profile", "--device", "cuda"}), {"--device", "cuda", "cpu"});
}

TEST_CASE("the list times nothing", "[cli]") {
  const ProgramResult list =
      run_program({"profile", "--device", "cpu", "--list", "--model", "toy-llama-12m"});
  REQUIRE(list.exit_code == 0);
  for (const char* op : {"gemm", "attn_decode", "attn_prefill", "rmsnorm", "sampling", "points"}) {
    CHECK_THAT(list.out, ContainsSubstring(op));
  }
}

TEST_CASE("one operator of this CPU, from samples to a profile that is read", "[cli]") {
  TempFolder folder;
  const std::vector<std::string> words = {"profile",    "--device",      "cpu",        "--kernel",
                                          "silu_mul",   "--model",       "toy-llama-12m",
                                          "--budget-s", "20",            "-o",         folder / "p",
                                          "--json"};
  const ProgramResult result = run_program(words);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.empty());
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json.at("points").size() >= 5);
  for (const auto& point : json.at("points")) {
    CHECK(point.at("op") == "silu_mul");
    CHECK(point.at("low_us") <= point.at("time_us"));
    CHECK(point.at("time_us") <= point.at("high_us"));
  }
  const Profile p = load_profile(folder / "p");
  CHECK(p.gpu == "cpu");
  CHECK(p.incomplete.empty());
  REQUIRE(p.tables.size() == 1);
  CHECK(p.tables[0].rows() == 5);
  // More rows take longer, whatever the machine.
  CHECK(p.tables[0].time_us.back() > p.tables[0].time_us.front());
  // It has no products: a run says what is missing.
  folder.write("s.json", R"({"model": "toy-llama-12m", "gpu": "cpu", "profile": "p",
    "workload": {"num_prompts": 2, "request_rate": 1, "input_len": 20, "output_len": 4}})");
  refused(run_program({"run", folder / "s.json"}), {"gemm"});
}

TEST_CASE("an interrupted profile keeps what it has and prices nothing", "[cli]") {
  TempFolder folder;
  const std::string program =
      (std::filesystem::path(HEADWAY_BINARY).parent_path() / "headway-profile").string();
  const std::string output = folder / "p";
  const pid_t child = ::fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stdout);
    std::freopen("/dev/null", "w", stderr);
    ::execl(program.c_str(), program.c_str(), "--device", "cpu", "--grid", "full", "-o",
            output.c_str(), static_cast<char*>(nullptr));
    ::_exit(99);
  }
  REQUIRE(child > 0);
  // The folder is made once the program listens to interrupts.
  for (int i = 0; i < 6000 && !std::filesystem::exists(output); ++i) ::usleep(10'000);
  ::usleep(500'000);
  ::kill(child, SIGINT);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  const Profile p = load_profile(output);
  CHECK_THAT(p.incomplete, ContainsSubstring("interrupted after"));
  CHECK_THROWS_AS(check_profile_for(p, "cpu"), InputError);
}
