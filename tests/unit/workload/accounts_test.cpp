#include "sim/workload/accounts.h"

#include <sys/stat.h>

#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace headway {
namespace {

bool file_has_accounts(const std::string& name, const std::string& text,
                       WorkloadOptions options = {}) {
  const test::TempFolder folder;
  folder.write(name, text);
  options.trace = name;
  return has_accounts(options, folder.path());
}

TEST_CASE("a trace has accounts when a row is of another tenant or priority than 0", "[unit]") {
  const std::string head = "arrival_s,input_tokens,output_tokens,priority,tenant\n";
  CHECK_FALSE(file_has_accounts("a.csv", "arrival_s,input_tokens,output_tokens\n0,1,1\n"));
  CHECK_FALSE(file_has_accounts("a.csv", head + "0,1,1,0,0\n1,1,1,0,0\n"));
  CHECK_FALSE(file_has_accounts("a.csv", head + "0,1,1,,\n"));
  CHECK(file_has_accounts("a.csv", head + "0,1,1,0,0\n1,1,1,-1,0\n"));
  CHECK(file_has_accounts("a.csv", head + "0,1,1,0,0\n1,1,1,0,1\n"));
  // A failed row is not run.
  CHECK_FALSE(file_has_accounts("a.csv", head + "0,1,0,0,1\n1,1,1,0,0\n"));
  // Two ids of 4 tokens are too many for a prompt of 8 in blocks of 512.
  WorkloadOptions blocks;
  blocks.hash_block_size = 4;
  CHECK(file_has_accounts("a.jsonl",
                          "{\"timestamp\": 0, \"input_length\": 8, \"output_length\": 1, "
                          "\"hash_ids\": [1, 2], \"priority\": 3}\n",
                          blocks));
}

TEST_CASE("a fault of the trace is left to its reading for the run", "[unit]") {
  CHECK_FALSE(file_has_accounts("a.csv", "arrival_s,input_tokens,output_tokens\n0,x,1\n"));
  CHECK_FALSE(file_has_accounts("a.csv", ""));
  WorkloadOptions missing;
  missing.trace = "no-such-trace";
  CHECK_FALSE(has_accounts(missing, ""));
}

TEST_CASE("generated workloads have accounts when tenants are listed, synthetic ones always",
          "[unit]") {
  WorkloadOptions generated;
  CHECK_FALSE(has_accounts(generated, ""));
  generated.tenants = {{1.0, 0}, {2.0, 1}};
  CHECK(has_accounts(generated, ""));
  WorkloadOptions synthetic;
  synthetic.synth = "azure-week";
  CHECK(has_accounts(synthetic, ""));
}

TEST_CASE("a pipe is not read ahead of the run", "[unit]") {
  const test::TempFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  WorkloadOptions options;
  options.trace = "pipe";
  CHECK(has_accounts(options, folder.path()));
}

}  // namespace
}  // namespace headway
