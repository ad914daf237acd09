#include "sim/cli/commands.h"
#include "sim/cli/helper_program.h"
#include "sim/cli/validate_arguments.h"

namespace headway {
namespace {

// The engine and its kernels live in a program of their own.
class ValidateCommand final : public Command {
 public:
  void declare(Arguments& arguments) override { arguments_.declare(arguments); }
  int run() override { become_helper("headway-validate", arguments_.words()); }

 private:
  ValidateArguments arguments_;
};

}  // namespace

std::unique_ptr<Command> make_validate_command() { return std::make_unique<ValidateCommand>(); }

}  // namespace headway
