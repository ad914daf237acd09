#include <vector>

#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/study/demo.h"

namespace headway {
namespace {

class DemoCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("name", name_, "A demo or its number; without one, the list of them", false);
  }

  int run() override {
    if (name_.empty()) {
      std::vector<std::vector<std::string>> rows = {{"demo", "question"}};
      for (const DemoEntry& demo : demo_table()) {
        rows.push_back({std::string(demo.name), std::string(demo.question)});
      }
      print_out(aligned(rows));
      return 0;
    }
    const DemoEntry& demo = find_demo(name_);
    print_out(demo_text(demo, demo.run(demo_scenario(demo))));
    return 0;
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<Command> make_demo_command() { return std::make_unique<DemoCommand>(); }

}  // namespace headway
