#include "sim/cli/commands.h"
#include "sim/cli/helper_program.h"
#include "sim/cli/profile_arguments.h"

namespace headway {
namespace {

// Kernels, and the libraries they need, live in a program of their own.
class ProfileCommand final : public Command {
 public:
  void declare(Arguments& arguments) override { arguments_.declare(arguments); }
  int run() override { become_helper("headway-profile", arguments_.words()); }

 private:
  ProfileArguments arguments_;
};

}  // namespace

std::unique_ptr<Command> make_profile_command() { return std::make_unique<ProfileCommand>(); }

}  // namespace headway
