#include <cstdio>
#include <optional>

#include "sim/cli/commands.h"
#include "sim/cli/trace_command.h"
#include "sim/core/errors.h"
#include "sim/workload/synth.h"

namespace headway {
namespace {

// Which trace, and which part of it; common to both commands.
class TraceArguments {
 public:
  void declare(Arguments& arguments) {
    arguments.positional("trace", options_.trace,
                         "A trace's path, a catalogue name, or - for stdin");
    arguments.text("--format", "NAME", options_.format, "A row of `headway list formats`, or auto");
    arguments.number("--limit", "N", limit_, 1, "Only the first N requests");
    arguments.real("--offset", "SECONDS", offset_, "Skip what arrives before");
    arguments.real("--rate-scale", "X", rate_scale_, "Arrivals X times as fast");
  }

  WorkloadOptions options() const {
    WorkloadOptions options = options_;
    options.limit = limit_.value_or(0);
    options.offset_s = offset_.value_or(0);
    options.rate_scale = rate_scale_.value_or(1);
    if (options.rate_scale <= 0) {
      throw InputError({"command line", "--rate-scale", "0", "a number above 0"});
    }
    return options;
  }

 private:
  WorkloadOptions options_;
  std::optional<std::int64_t> limit_;
  std::optional<double> offset_, rate_scale_;
};

class TraceInspectCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    trace_.declare(arguments);
    arguments.flag("--json", json_, "Print JSON");
  }
  int run() override { return trace_inspect(trace_.options(), json_, stdout); }

 private:
  TraceArguments trace_;
  bool json_ = false;
};

class TraceConvertCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    trace_.declare(arguments);
    arguments.text("-o,--output", "FILE", output_, "Where to; .gz is compressed, - is stdout");
    arguments.flag("-q,--quiet", quiet_, "No notes on stderr");
    arguments.text("--to", "FORM", to_, "csv or mooncake (default: by the name of FILE)");
  }
  int run() override {
    if (output_.empty()) {
      throw InputError({"command line", "headway trace convert", "no -o", "-o FILE"});
    }
    return trace_convert(trace_.options(), output_, to_, quiet_ ? nullptr : stderr);
  }

 private:
  TraceArguments trace_;
  std::string output_, to_;
  bool quiet_ = false;
};

class TraceSynthCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.text("-o,--output", "FILE", output_, "Where to; .gz is compressed, - is stdout");
    arguments.number("--requests", "N", requests_, 1, "Exactly so many (default: 44 million a week)");
    arguments.real("--days", "D", days_, "Days from a Friday's midnight on (default 7)");
    arguments.number("--seed", "N", seed_, 0, "Of the random streams (default 0)");
    arguments.real("--rate-scale", "X", rate_scale_, "Arrivals X times as fast");
    arguments.flag("-q,--quiet", quiet_, "No word on stderr");
    arguments.text("--to", "FORM", to_, "csv or mooncake (default: by the name of FILE)");
  }
  int run() override {
    if (output_.empty()) {
      throw InputError({"command line", "headway trace synth", "no -o", "-o FILE"});
    }
    WorkloadOptions options;
    options.synth = "azure-week";
    options.days = days_.value_or(options.days);
    if (!(options.days > 0 && options.days <= 3660)) {
      throw InputError({"command line", "--days", std::to_string(options.days),
                        "above 0 and at most 3660"});
    }
    options.rate_scale = rate_scale_.value_or(1);
    options.num_prompts = requests_.value_or(default_synth_requests(options.days));
    return trace_synth(options, static_cast<std::uint64_t>(seed_.value_or(0)), output_, to_,
                       quiet_ ? nullptr : stderr);
  }

 private:
  std::string output_, to_;
  std::optional<std::int64_t> requests_, seed_;
  std::optional<double> days_, rate_scale_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_trace_inspect_command() {
  return std::make_unique<TraceInspectCommand>();
}
std::unique_ptr<Command> make_trace_convert_command() {
  return std::make_unique<TraceConvertCommand>();
}
std::unique_ptr<Command> make_trace_synth_command() {
  return std::make_unique<TraceSynthCommand>();
}

}  // namespace headway
