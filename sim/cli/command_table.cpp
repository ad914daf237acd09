#include <array>

#include "sim/cli/commands.h"

namespace headway {

std::span<const CommandRow> command_table() {
  static constexpr std::array<CommandRow, 19> kRows{{
      {"run", "Simulate one scenario and report its latencies, throughput and goodput",
       make_run_command},
      {"compare", "Vary keys of a scenario on the same requests and print one table",
       make_compare_command},
      {"explain", "Say why a request took its time, or where a run's latencies came from",
       make_explain_command},
      {"roofline", "Count FLOPs, bytes and KV of a model on a GPU, by operator and by batch",
       make_roofline_command},
      {"capacity", "Find the highest load, or the fewest replicas, with which an SLO is met",
       make_capacity_command},
      {"sweep", "Run every point of a plan, on threads or on many machines", make_sweep_command},
      {"sweep merge", "Put a sweep's results into one table", make_sweep_merge_command},
      {"demo", "Answer one question with a computation of seconds", make_demo_command},
      {"profile", "Time the kernels on this machine's GPU or CPU and write a profile",
       make_profile_command},
      {"validate", "Run real kernels in real time and compare with the prediction",
       make_validate_command},
      {"import", "Turn published measurements into profiles", make_import_command},
      {"trace inspect", "Say what a trace is like, without running it", make_trace_inspect_command},
      {"trace convert", "Write a trace in Headway's own form", make_trace_convert_command},
      {"trace synth", "Write a synthetic week of a cloud's traffic, any number of requests",
       make_trace_synth_command},
      {"list", "List what there is to choose from", make_list_command},
      {"version", "Print the version and how this program was built", make_version_command},
      {"completions", "Print a script that completes command lines, for a shell",
       make_completions_command},
      {"man", "Print the manual page", make_man_command},
      {"help", "Explain a command, or every key of a scenario (help scenario)", make_help_command},
  }};
  return kRows;
}

}  // namespace headway
