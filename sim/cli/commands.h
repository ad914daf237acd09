#pragma once

#include <memory>

#include "sim/cli/command.h"

namespace headway {

// The factories of the subcommands, one a file; command_table.cpp names each in one row.
std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_compare_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_capacity_command();
std::unique_ptr<Command> make_sweep_command();
std::unique_ptr<Command> make_sweep_merge_command();
std::unique_ptr<Command> make_demo_command();
std::unique_ptr<Command> make_roofline_command();
std::unique_ptr<Command> make_import_command();
std::unique_ptr<Command> make_trace_inspect_command();
std::unique_ptr<Command> make_trace_convert_command();
std::unique_ptr<Command> make_trace_synth_command();
std::unique_ptr<Command> make_list_command();
std::unique_ptr<Command> make_version_command();
std::unique_ptr<Command> make_profile_command();
std::unique_ptr<Command> make_validate_command();
std::unique_ptr<Command> make_completions_command();
std::unique_ptr<Command> make_man_command();
std::unique_ptr<Command> make_help_command();

}  // namespace headway
