#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/core/errors.h"
#include "sim/workload/trace_summary.h"
#include "sim/workload/trace_writer.h"

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
    arguments.flag("-q,--quiet", quiet_, "No notes on stderr");
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

  static std::string base_folder() { return std::filesystem::current_path().string(); }

  void say(const std::vector<std::string>& notes) const {
    if (quiet_) return;
    for (const std::string& note : notes) print_err("note: " + note + "\n");
  }

 private:
  WorkloadOptions options_;
  std::optional<std::int64_t> limit_;
  std::optional<double> offset_, rate_scale_;
  bool quiet_ = false;
};

nlohmann::ordered_json lengths_json(const LengthSummary& s) {
  return {{"mean", s.mean}, {"p50", s.p50}, {"p90", s.p90},    {"p99", s.p99},
          {"min", s.min},   {"max", s.max}, {"total", s.total}};
}

std::string summary_json(const TraceSummary& s) {
  nlohmann::ordered_json json = {{"requests", s.requests},
                                 {"span_s", s.span_s},
                                 {"rate", s.rate},
                                 {"gap_cv", s.gap_cv},
                                 {"sessions", s.sessions},
                                 {"input_tokens", lengths_json(s.input)},
                                 {"output_tokens", lengths_json(s.output)},
                                 {"prefix_hit_blocks", nullptr},
                                 {"prefix_hit_tokens", nullptr}};
  if (s.prefix_hit_blocks >= 0) json["prefix_hit_blocks"] = s.prefix_hit_blocks;
  if (s.prefix_hit_tokens >= 0) json["prefix_hit_tokens"] = s.prefix_hit_tokens;
  return json.dump(2) + "\n";
}

std::string summary_text(const TraceSummary& s) {
  std::string text = fmt::format("{:<34}{}\n{:<34}{:.1f}\n{:<34}{:.3f}\n{:<34}{:.2f}\n", "Requests:",
                                 s.requests, "Span (s):", s.span_s, "Arrivals (req/s):", s.rate,
                                 "Burstiness (gap std / mean):", s.gap_cv);
  if (s.sessions > 0) text += fmt::format("{:<34}{}\n", "Sessions:", s.sessions);
  if (s.prefix_hit_tokens >= 0) {
    text += fmt::format("{:<34}{:.1f} % of tokens, {:.1f} % of blocks\n", "Ideal prefix cache hits:",
                        100 * s.prefix_hit_tokens, 100 * s.prefix_hit_blocks);
  }
  const auto row = [](const char* name, const LengthSummary& l) {
    return std::vector<std::string>{
        name, fmt::format("{:.1f}", l.mean), fmt::format("{:.0f}", l.p50), fmt::format("{:.0f}", l.p90),
        fmt::format("{:.0f}", l.p99), std::to_string(l.min), std::to_string(l.max), std::to_string(l.total)};
  };
  return text + "\n" + aligned({{"tokens", "mean", "p50", "p90", "p99", "min", "max", "total"},
                                row("input", s.input), row("output", s.output)});
}

class TraceInspectCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    trace_.declare(arguments);
    arguments.flag("--json", json_, "Print JSON");
  }
  int run() override {
    std::vector<std::string> notes;
    const auto source = open_workload(trace_.options(), TraceArguments::base_folder(), 0, notes);
    const TraceSummary summary = summarise(*source);
    trace_.say(notes);
    print_out(json_ ? summary_json(summary) : summary_text(summary));
    return 0;
  }

 private:
  TraceArguments trace_;
  bool json_ = false;
};

class TraceConvertCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    trace_.declare(arguments);
    arguments.text("-o,--output", "FILE", output_, "Where to; .gz is compressed, - is stdout");
    arguments.text("--to", "FORM", to_, "csv or mooncake (default: by the name of FILE)");
  }
  int run() override {
    if (output_.empty()) {
      throw InputError({"command line", "headway trace convert", "no -o", "-o FILE"});
    }
    std::vector<std::string> notes;
    const std::int64_t rows =
        convert_trace(trace_.options(), TraceArguments::base_folder(), output_, to_, notes);
    notes.push_back(std::to_string(rows) + " requests written to " +
                    (output_ == "-" ? "standard output" : output_));
    trace_.say(notes);
    return 0;
  }

 private:
  TraceArguments trace_;
  std::string output_, to_;
};

}  // namespace

std::unique_ptr<Command> make_trace_inspect_command() {
  return std::make_unique<TraceInspectCommand>();
}
std::unique_ptr<Command> make_trace_convert_command() {
  return std::make_unique<TraceConvertCommand>();
}

}  // namespace headway
