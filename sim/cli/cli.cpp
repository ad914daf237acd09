#include "sim/cli/cli.h"

#include <csignal>
#include <exception>
#include <new>
#include <string>

#include "sim/cli/command.h"
#include "sim/cli/console.h"
#include "sim/core/errors.h"

namespace headway {
namespace {

int complain(const std::string& what, int exit_code) {
  print_err("headway: " + what + "\n");
  return exit_code;
}

}  // namespace

int run_cli(int argc, char** argv) {
  // A reader that goes away is an error to report, not a reason to die without a word.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const std::unique_ptr<Command> command = parse_command_line(argc, argv);
    return command ? command->run() : 0;
  } catch (const InputError& error) {
    return complain(error.what(), 2);
  } catch (const StudyError& error) {
    return complain(error.what(), error.exit_code());
  } catch (const std::bad_alloc&) {
    return complain("out of memory", 1);
  } catch (const std::exception& error) {
    return complain(
        std::string("internal error: ") + error.what() +
            "\nThis is a fault of ours; please report it with the command line and the scenario.",
        1);
  }
}

}  // namespace headway
