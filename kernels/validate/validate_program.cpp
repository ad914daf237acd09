// headway-validate: the program behind `headway validate`.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

#include "kernels/validate/report.h"
#include "kernels/validate/validation.h"
#include "sim/cli/cli.h"
#include "sim/cli/command.h"
#include "sim/cli/console.h"
#include "sim/cli/validate_arguments.h"
#include "sim/core/build_info.h"
#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "sim/core/suggest.h"
#include "sim/model/model_spec.h"
#include "sim/scenario/parse.h"

namespace headway {
namespace kernels {
namespace {

class ValidateProgram final : public Command {
 public:
  void declare(Arguments& arguments) override { arguments_.declare(arguments); }

  int run() override {
    if (arguments_.device != "cpu" && arguments_.device != "cuda") {
      const std::string found =
          arguments_.device.empty() ? "nothing" : "\"" + arguments_.device + "\"";
      throw InputError(
          {"command line", "--device", found, one_of(arguments_.device, {"cpu", "cuda"})});
    }
    std::vector<std::string> notes;
    const Scenario scenario = as_engine_runs(load(), notes);
    refuse_unwritable();
    const LlamaShape shape = llama_shape(scenario.model, scenario.engine.max_model_len);
    const double kv_bytes = kv_bytes_per_token(scenario.model, scenario.precision.kv) *
                            static_cast<double>(scenario.engine.max_num_seqs) * kTypicalTokens;
    const std::unique_ptr<ValidationDevice> device =
        arguments_.device == "cpu" ? make_cpu_device(shape, scenario.seed, kv_bytes)
                                   : make_cuda_device(shape, scenario.seed, kv_bytes);
    Validation v = validate(scenario, *device, options());
    wipe();
    v.notes.insert(v.notes.begin(), notes.begin(), notes.end());
    if (!arguments_.save_profile.empty()) save(v);
    print_out(arguments_.json ? report_json(v) : report_text(v));
    return v.tokens.different > 0 ? 1 : 0;
  }

 private:
  static constexpr double kTypicalTokens = 128;  // of a sequence, for the bytes of KV in use

  Scenario load() const {
    std::vector<Assignment> sets;
    for (const std::string& set : arguments_.sets) sets.push_back(parse_assignment(set));
    if (arguments_.seed) sets.push_back({"seed", std::to_string(*arguments_.seed), "--seed"});
    const std::string name =
        arguments_.scenario.empty() ? "validate-" + arguments_.device : arguments_.scenario;
    return load_scenario(name, sets);
  }

  ValidateOptions options() {
    ValidateOptions o;
    o.rounds = static_cast<int>(arguments_.rounds.value_or(o.rounds));
    o.seconds = arguments_.seconds.value_or(o.seconds);
    o.profile_s = arguments_.profile_s.value_or(o.profile_s);
    if (!arguments_.quiet && ::isatty(STDERR_FILENO) != 0) {
      o.say = [this](const std::string& text) {
        print_err("\r\033[K" + text);
        drawn_ = true;
      };
    }
    return o;
  }

  void wipe() {
    if (std::exchange(drawn_, false)) print_err("\r\033[K");
  }

  // A minute of measuring must not end at a folder that takes nothing.
  void refuse_unwritable() const {
    if (arguments_.save_profile.empty()) return;
    std::error_code ec;
    std::filesystem::create_directories(arguments_.save_profile, ec);
    if (ec) {
      throw InputError({arguments_.save_profile, "",
                        "a folder that cannot be made (" + ec.message() + ")", "a writable place"});
    }
    const OutputFile probe(arguments_.save_profile + "/profile.json");  // never committed
  }

  void save(const Validation& v) const {
    Profile profile = v.profile;
    profile.provenance_json = R"({"method": "headway validate, between the runs of its engine", )"
                              R"("measured_by": "headway )" +
                              program_version() + R"("})";
    write_profile(profile, arguments_.save_profile);
  }

  ValidateArguments arguments_;
  bool drawn_ = false;
};

std::unique_ptr<Command> make_program() { return std::make_unique<ValidateProgram>(); }

}  // namespace
}  // namespace kernels

// The one row of this program's table.
std::span<const CommandRow> command_table() {
  static constexpr std::array<CommandRow, 1> kRows{{
      {"validate", "Run real kernels in real time and compare with the prediction",
       kernels::make_program},
  }};
  return kRows;
}

}  // namespace headway

// The words after the program's name are those of `headway validate`.
int main(int argc, char** argv) {
  std::string program = "headway", command = "validate";
  std::vector<char*> words{program.data(), command.data()};
  for (int i = 1; i < argc; ++i) words.push_back(argv[i]);
  const int count = static_cast<int>(words.size());
  words.push_back(nullptr);
  return headway::run_cli(count, words.data());
}
