#include "sim/cli/command_docs.h"
#include "sim/core/build_info.h"

namespace headway {
namespace {

// What roff would take for its own: backslashes, hyphens that are to be typed, a leading dot or quote.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      if (out.empty() && (c == '.' || c == '\'')) out += "\\&";
      out += c;
    }
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string flag_title(const FlagDoc& flag) {
  std::string out;
  for (const std::string& name : flag.names) out += (out.empty() ? "" : ", ") + bold(name);
  if (flag.metavar.empty()) return out;
  return out + " " + (flag.optional_value ? "[" + italic(flag.metavar) + "]" : italic(flag.metavar));
}

std::string usage(const CommandDoc& doc) {
  std::string out = bold("headway " + doc.name);
  for (const WordDoc& word : doc.words) {
    out += word.required ? " " + italic(word.name) : " [" + italic(word.name) + "]";
  }
  return out + " [options]";
}

std::string command_section(const CommandDoc& doc) {
  std::string out = ".SS " + roff("headway " + doc.name) + "\n" + usage(doc) + "\n.PP\n" +
                    roff(doc.help) + ".\n";
  for (const WordDoc& word : doc.words) {
    out += ".TP\n" + italic(word.name) + "\n" + roff(word.help) + "\n";
  }
  for (const FlagDoc& flag : doc.flags) {
    out += ".TP\n" + flag_title(flag) + "\n" + roff(flag.help) + "\n";
  }
  return out;
}

constexpr const char* kEnd = R"(.SH "EXIT STATUS"
.TP
0
Fine.
.TP
1
A fault of headway.
.TP
2
The user's mistake: usage, scenario, trace or profile.
.TP
3
Part of a study failed.
.TP
4
A requested service level objective is not met.
.SH ENVIRONMENT
.TP
.B NO_COLOR
When set, no colours are used on a terminal.
.SH EXAMPLES
.nf
headway run quickstart
headway compare demo \-\-vary engine.scheduler=static,orca,vllm\-v1
headway explain demo \-\-request 5000
headway help scenario
.fi
)";

}  // namespace

std::string manual_page() {
  const std::string version = program_version();
  std::string out = ".TH HEADWAY 1 \"\" \"headway " + roff(version) +
                    "\" \"User Commands\"\n.SH NAME\nheadway \\- discrete\\-event simulator of LLM "
                    "serving\n.SH SYNOPSIS\n.B headway\n.I command\n[options]\n.SH DESCRIPTION\n"
                    "What would this LLM serving setup do to these requests? headway replays a request "
                    "trace through the scheduler of a serving engine, prices every engine step with "
                    "kernel times measured on a GPU, and reports latencies, throughput and goodput, "
                    "with the reason behind each number.\n.PP\nA scenario is a JSON file; ";
  out += bold("headway help scenario") + " explains every key.\n.SH COMMANDS\n";
  for (const CommandDoc& doc : command_docs()) out += command_section(doc);
  return out + kEnd;
}

}  // namespace headway
