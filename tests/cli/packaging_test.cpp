#include <string>
#include <vector>

#include "sim/cli/command.h"
#include "sim/cli/command_docs.h"
#include "tests/support/catch.h"
#include "tests/support/run_program.h"

using namespace headway;
using test::ProgramResult;
using test::run_program;
using test::TempFolder;

namespace {

// What bash offers for the last of `words`, by the script that the program prints.
std::string completed(const std::vector<std::string>& words) {
  const TempFolder folder;
  const std::string script = folder.write("headway.bash", run_program({"completions", "bash"}).out);
  std::string line;
  for (const std::string& word : words) line += " '" + word + "'";
  const std::string command =
      ". " + script + "; COMP_WORDS=(headway" + line + "); COMP_CWORD=" +
      std::to_string(words.size()) + "; _headway " HEADWAY_BINARY "; echo \" ${COMPREPLY[*]} \"";
  const std::string out = folder / "out";
  const std::string quoted = folder.write("run.bash", command);
  REQUIRE(std::system(("bash " + quoted + " > " + out).c_str()) == 0);
  return test::read_text(out);
}

std::string page() { return run_program({"man"}).out; }

}  // namespace

TEST_CASE("completions in bash: commands, flags, keys and values", "[cli]") {
  CHECK_THAT(completed({"ex"}), ContainsSubstring(" explain "));
  CHECK_THAT(completed({""}), ContainsSubstring(" run "));
  CHECK_THAT(completed({"trace", "sy"}), ContainsSubstring(" synth "));
  CHECK_THAT(completed({"run", "--time"}), ContainsSubstring(" --timeline "));
  CHECK_THAT(completed({"trace", "synth", "--req"}), ContainsSubstring(" --requests "));
  CHECK_THAT(completed({"run", "demo", "--set", "engine.sch"}),
             ContainsSubstring(" engine.scheduler= "));
  // As bash splits "--set engine.scheduler=vll".
  CHECK(completed({"run", "demo", "--set", "engine.scheduler", "=", "vllm-v"}) ==
        " vllm-v1 vllm-v0 \n");
  CHECK_THAT(completed({"run", "demo", "--set", "engine.scheduler", "="}),
             ContainsSubstring(" sglang "));
  CHECK(completed({"compare", "demo", "--vary", "engine.scheduler", "=", "orca,sar"}) ==
        " orca,sarathi \n");
  CHECK_THAT(completed({"run", "demo", "--set", "gpu", "=", "h100"}),
             ContainsSubstring(" h100-sxm "));
  CHECK_THAT(completed({"run", "quick"}), ContainsSubstring(" quickstart "));
  CHECK_THAT(completed({"list", "sched"}), ContainsSubstring(" schedulers "));
  CHECK_THAT(completed({"profile", "--device", "c"}), ContainsSubstring(" cuda cpu "));
  CHECK_THAT(completed({"help", "scen"}), ContainsSubstring(" scenario "));
}

TEST_CASE("completions know every command and flag; shells that they do not know", "[cli]") {
  const std::string bash = run_program({"completions", "bash"}).out;
  const std::string fish = run_program({"completions", "fish"}).out;
  for (const CommandDoc& doc : command_docs()) {
    INFO(doc.name);
    CHECK_THAT(bash, ContainsSubstring("\"" + doc.name + "\") flags="));
    for (const FlagDoc& flag : doc.flags) CHECK_THAT(bash, ContainsSubstring(flag.names.back()));
    CHECK_THAT(fish, ContainsSubstring(" -a " + doc.name.substr(doc.name.find(' ') + 1) + " "));
  }
  CHECK(run_program({"completions", "zsh"}).out.starts_with("#compdef headway\n"));
  const ProgramResult unknown = run_program({"completions", "bach"});
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, ContainsSubstring("did you mean bash?"));
}

TEST_CASE("the manual page has every command with its flags", "[cli]") {
  const std::string text = page();
  CHECK(text.starts_with(".TH HEADWAY 1 "));
  for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "\"EXIT STATUS\""}) {
    CHECK_THAT(text, ContainsSubstring(std::string("\n.SH ") + section + "\n"));
  }
  for (const CommandRow& row : command_table()) {
    CHECK_THAT(text, ContainsSubstring("\n.SS headway " + std::string(row.name) + "\n"));
  }
  CHECK_THAT(text, ContainsSubstring("\\fB\\-\\-timeline\\-window\\fR \\fIT0:T1\\fR"));
  // No line begins with what roff would not know: only requests that are ours.
  for (std::size_t at = text.find("\n."); at != std::string::npos; at = text.find("\n.", at + 1)) {
    const std::string request = text.substr(at + 2, 2);
    CHECK((request == "SH" || request == "SS" || request == "TP" || request == "PP" ||
           request == "B " || request == "I " || request == "nf" || request == "fi"));
  }
}

TEST_CASE("the help of a command and its page agree", "[cli]") {
  for (const CommandDoc& doc : command_docs()) {
    std::vector<std::string> words = {"help"};
    for (std::size_t begin = 0; begin < doc.name.size();) {
      const std::size_t end = std::min(doc.name.find(' ', begin), doc.name.size());
      words.push_back(doc.name.substr(begin, end - begin));
      begin = end + 1;
    }
    const std::string help = run_program(words).out;
    for (const FlagDoc& flag : doc.flags) CHECK_THAT(help, ContainsSubstring(flag.names.back()));
  }
}
