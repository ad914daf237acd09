#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/core/errors.h"
#include "sim/report/sweep_tables.h"

namespace headway {
namespace {

class SweepMergeCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("folder", folder_, "The folder of a sweep");
    arguments.text("--csv", "FILE", csv_, "The table (default: DIR/results.csv; - is stdout)");
    arguments.text("--json", "FILE", json_,
                   "The table with every result (default: DIR/results.json)");
    arguments.flag("--partial", partial_, "Write what there is although points are missing");
    arguments.flag("-q,--quiet", quiet_, "No word on stderr");
  }

  int run() override {
    const SweepFolder folder = SweepFolder::existing(folder_);
    const std::string csv = csv_.empty() ? folder_ + "/results.csv" : csv_;
    const std::string json = json_.empty() ? folder_ + "/results.json" : json_;
    if (csv == json) {
      throw InputError({"command line", "--json", "\"" + json + "\" for two outputs",
                        "a name for each"});
    }
    const SweepMerge merge = merge_sweep(folder, csv, json, partial_);
    const auto count = static_cast<std::size_t>(point_count(folder.plan()));
    if (!merge.missing.empty()) {
      const std::string text = std::to_string(merge.missing.size()) + " of " +
                               std::to_string(count) +
                               " points are missing: " + ranges_text(merge.missing);
      if (!partial_) {
        throw StudyError(3, text + " (run the sweep again, or merge --partial)");
      }
      if (!quiet_) print_err("note: " + text + "\n");
    }
    if (!quiet_) {
      print_err(std::to_string(count - merge.missing.size()) + " points: " +
                std::to_string(merge.ok) + " run, " + std::to_string(merge.refused) +
                " refused, " + std::to_string(merge.failed.size()) + " failed; " + csv + ", " +
                json + "\n");
    }
    if (!merge.failed.empty()) {
      throw StudyError(3, std::to_string(merge.failed.size()) + " points failed: " +
                              ranges_text(merge.failed) + " (why is in their rows)");
    }
    return 0;
  }

 private:
  std::string folder_, csv_, json_;
  bool partial_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_sweep_merge_command() {
  return std::make_unique<SweepMergeCommand>();
}

}  // namespace headway
