#include "sim/cli/commands.h"
#include "sim/cli/import_command.h"
#include "sim/core/errors.h"

namespace headway {
namespace {

class ImportCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    std::string names;
    for (const std::string& name : import_formats()) names += (names.empty() ? "" : ", ") + name;
    arguments.positional("format", format_, "Whose measurements: " + names);
    arguments.positional("path", path_, "The folder that holds them");
    arguments.text("-o,--output", "DIR", output_,
                   "Folder for the profiles: DIR/<gpu>/<engine-version>");
    arguments.flag("-q,--quiet", quiet_, "Say nothing of what was read and left out");
  }
  int run() override {
    if (output_.empty()) throw InputError({"command line", "headway import", "no -o", "-o DIR"});
    import_profiles(format_, path_, output_, quiet_ ? nullptr : stderr);
    return 0;
  }

 private:
  std::string format_, path_, output_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_import_command() { return std::make_unique<ImportCommand>(); }

}  // namespace headway
