#include "sim/cli/command_docs.h"
#include "sim/cli/commands.h"
#include "sim/cli/console.h"

namespace headway {
namespace {

class CompletionsCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("shell", shell_, "bash, zsh or fish");
  }
  int run() override {
    print_out(completions(shell_));
    return 0;
  }

 private:
  std::string shell_;
};

class ManCommand final : public Command {
 public:
  void declare(Arguments&) override {}
  int run() override {
    print_out(manual_page());
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_completions_command() {
  return std::make_unique<CompletionsCommand>();
}
std::unique_ptr<Command> make_man_command() { return std::make_unique<ManCommand>(); }

}  // namespace headway
