#pragma once

namespace headway {

// The whole program: parses the command line, runs one command, maps errors to exit codes
// (0 fine, 1 ours, 2 the user's, 3 part of a study failed, 4 SLO not met).
int run_cli(int argc, char** argv);

}  // namespace headway
