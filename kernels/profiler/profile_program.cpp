// headway-profile: the program behind `headway profile`.
#include <array>
#include <csignal>
#include <filesystem>
#include <utility>

#include "kernels/profiler/cpu_backend.h"
#include "kernels/profiler/cuda_backend.h"
#include "kernels/profiler/printing.h"
#include "kernels/profiler/profile_run.h"
#include "sim/cli/cli.h"
#include "sim/cli/command.h"
#include "sim/cli/console.h"
#include "sim/cli/profile_arguments.h"
#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "sim/core/suggest.h"

#include <unistd.h>

namespace headway {
namespace kernels {
namespace {

// The one thing that a signal handler may touch.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) {
  interrupted.store(true);
  std::signal(SIGINT, SIG_DFL);  // the second one ends the program
}

struct DeviceDefaults {
  const char* name;
  std::array<double, 2> budget_s;        // quick, full
  std::array<double, 2> longest_call_s;
};
constexpr std::array kDevices{DeviceDefaults{"cuda", {60, 240}, {0.01, 0.05}},
                              DeviceDefaults{"cpu", {40, 300}, {0.025, 0.25}}};

const DeviceDefaults& device_defaults(const std::string& name) {
  std::vector<std::string> names;
  for (const DeviceDefaults& device : kDevices) {
    if (name == device.name) return device;
    names.emplace_back(device.name);
  }
  throw InputError({"command line", "--device", name.empty() ? "nothing" : "\"" + name + "\"",
                    one_of(name, names)});
}

GridSize grid_size(const std::string& name) {
  if (name == "quick") return GridSize::kQuick;
  if (name == "full") return GridSize::kFull;
  throw InputError(
      {"command line", "--grid", "\"" + name + "\"", one_of(name, {"quick", "full"})});
}

// What a list is made for where no device is asked: a large GPU.
Device nominal_gpu() {
  Device device;
  device.kind = "cuda";
  device.flops = 1e15;
  device.bytes_per_s = 4e12;
  device.memory_bytes = 8e10;
  return device;
}

class ProfileProgram final : public Command {
 public:
  void declare(Arguments& arguments) override { arguments_.declare(arguments); }

  int run() override {
    const DeviceDefaults& defaults = device_defaults(arguments_.device);
    ProfileRequest request = make_request(defaults);
    const bool cuda = arguments_.device == "cuda";
    const std::vector<KernelEntry> entries =
        only(cuda ? cuda_kernels() : cpu_kernels(), arguments_.kernel);
    if (arguments_.list) {
      const Device device = cuda ? nominal_gpu() : make_cpu_backend()->device();
      print_out(list_text(entries, planned_points(device, entries, request)));
      return 0;
    }
    std::signal(SIGINT, on_interrupt);
    refuse_unwritable();
    const std::unique_ptr<Backend> backend = cuda ? make_cuda_backend() : make_cpu_backend();
    if (!cuda) keep_freed_memory();
    const ProfileOutcome outcome = run_profile(*backend, entries, request);
    std::signal(SIGINT, SIG_DFL);
    wipe();
    if (!arguments_.output.empty()) write_profile(outcome.profile, arguments_.output);
    print_out(arguments_.json  ? rows_json(outcome)
              : arguments_.csv ? rows_csv(outcome)
                               : table_text(outcome));
    return conclude(outcome);
  }

 private:
  ProfileRequest make_request(const DeviceDefaults& defaults) {
    ProfileRequest request;
    request.grid = grid_size(arguments_.grid);
    const auto size = static_cast<std::size_t>(request.grid);
    const bool quick = request.grid == GridSize::kQuick;
    std::vector<std::string> models = default_models(arguments_.device, quick);
    if (!arguments_.models.empty()) models = arguments_.models;
    for (const std::string& name : models) request.models.push_back(profiled_model(name));
    request.budget_s = arguments_.budget_s.value_or(defaults.budget_s[size]);
    request.longest_call_s = defaults.longest_call_s[size];
    // Filling large buffers is what takes a CPU's time.
    if (arguments_.device == "cpu" && quick) request.largest_call_bytes = 1.5e8;
    request.rule.cap_s = quick ? 0.1 : 1.0;
    request.rule.target = arguments_.device == "cpu" ? 0.02 : 0.01;
    request.sustained = arguments_.device == "cuda" && !quick;
    request.seed = static_cast<std::uint64_t>(arguments_.seed.value_or(1));
    request.command_line = "headway profile";
    for (const std::string& word : arguments_.words()) request.command_line += " " + word;
    request.stop = &interrupted;
    if (!arguments_.quiet && ::isatty(STDERR_FILENO) != 0) {
      request.say = [this](const std::string& text) { draw(text); };
    }
    return request;
  }

  // Minutes of measuring must not end at a folder that takes nothing.
  void refuse_unwritable() const {
    if (arguments_.output.empty()) return;
    std::error_code ec;
    std::filesystem::create_directories(arguments_.output, ec);
    if (ec) {
      throw InputError({arguments_.output, "",
                        "a folder that cannot be made (" + ec.message() + ")", "a writable place"});
    }
    const OutputFile probe(arguments_.output + "/profile.json");  // never committed
  }

  void draw(const std::string& text) {
    print_err("\r\033[K" + text.substr(0, 100));
    drawn_ = true;
  }
  void wipe() {
    if (drawn_) print_err("\r\033[K");
  }

  int conclude(const ProfileOutcome& outcome) const {
    for (const FailedCheck& failed : outcome.failed) {
      print_err("headway profile: " + failed.kernel + " is wrong and was not timed: " +
                failed.what + "\n");
    }
    if (!outcome.refused.empty()) {
      print_err("headway profile: " + std::to_string(outcome.refused.size()) +
                " points could not be run and are left out; the first: " +
                outcome.refused.front() + "\n");
    }
    if (!outcome.failed.empty()) return 1;
    if (!outcome.profile.incomplete.empty()) {
      throw StudyError(3, "the profile is incomplete: " + outcome.profile.incomplete);
    }
    return 0;
  }

  ProfileArguments arguments_;
  bool drawn_ = false;
};

std::unique_ptr<Command> make_program() { return std::make_unique<ProfileProgram>(); }

}  // namespace
}  // namespace kernels

// The one row of this program's table.
std::span<const CommandRow> command_table() {
  static constexpr std::array<CommandRow, 1> kRows{{
      {"profile", "Time the kernels on this machine's GPU or CPU and write a profile",
       kernels::make_program},
  }};
  return kRows;
}

}  // namespace headway

// The words after the program's name are those of `headway profile`.
int main(int argc, char** argv) {
  std::string program = "headway", command = "profile";
  std::vector<char*> words{program.data(), command.data()};
  for (int i = 1; i < argc; ++i) words.push_back(argv[i]);
  const int count = static_cast<int>(words.size());
  words.push_back(nullptr);
  return headway::run_cli(count, words.data());
}
