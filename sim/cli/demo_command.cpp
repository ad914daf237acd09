#include <vector>

#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "sim/report/chart_svg.h"
#include "sim/study/demo.h"

namespace headway {
namespace {

class DemoCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("name", name_, "A demo or its number; without one, the list of them", false);
    arguments.text("--svg", "FILE.svg", svg_path_, "Draw its charts (those on fleets have some)");
  }

  int run() override {
    if (name_.empty()) {
      std::vector<std::vector<std::string>> rows = {{"demo", "question"}};
      for (const auto& table : {demo_table(), planner_table()}) {
        for (const DemoEntry& demo : table) {
          rows.push_back({std::string(demo.name), std::string(demo.question)});
        }
      }
      print_out(aligned(rows));
      return 0;
    }
    const DemoEntry& demo = find_demo(name_);
    const DemoAnswer answer = demo.run(demo_scenario(demo));
    if (!svg_path_.empty()) {
      if (answer.charts.empty()) {
        throw InputError({"command line", "--svg", name_ + ", which has no charts",
                          "a demo on fleets"});
      }
      OutputFile file(svg_path_);
      file.write(chart_svg(answer.charts, std::string(demo.question)));
      file.commit();
    }
    if (svg_path_ != "-") print_out(demo_text(demo, answer));
    return 0;
  }

 private:
  std::string name_, svg_path_;
};

}  // namespace

std::unique_ptr<Command> make_demo_command() { return std::make_unique<DemoCommand>(); }

}  // namespace headway
