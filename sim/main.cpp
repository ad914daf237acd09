#include "sim/cli/cli.h"

int main(int argc, char** argv) { return headway::run_cli(argc, argv); }
