#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/cli/execute.h"
#include "sim/cli/outputs.h"
#include "sim/cli/replicates.h"
#include "sim/cli/report_file.h"
#include "sim/cli/scenario_arguments.h"
#include "sim/cli/variants.h"
#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "sim/core/parallel.h"
#include "sim/metrics/latency.h"
#include "sim/report/cdf_svg.h"
#include "sim/report/compare_table.h"
#include "sim/report/explanation.h"
#include "sim/report/html_page.h"
#include "sim/report/paired_table.h"
#include "sim/report/result_json.h"
#include "sim/report/terminal.h"
#include "sim/report/terminal_block.h"
#include "sim/scheduling/scheduler.h"
#include "sim/study/capacity.h"

namespace headway {
namespace {

// More than anybody reads in one table; a slip of a list rather than a wish.
constexpr std::size_t kMaxVariants = 1000;
constexpr std::int64_t kMostReplicates = 10'000;

std::string scheduler_help(const std::string& name) {
  for (const SchedulerEntry& row : scheduler_table()) {
    if (row.name == name) return std::string(row.help);
  }
  return "";
}

class CompareCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    scenario_.declare(arguments);
    arguments.list("--vary", "KEY=V1,V2,...", vary_,
                   "A key and the values to try (repeat for every combination of several keys)");
    arguments.number("--replicates", "K", replicates_, {2, kMostReplicates},
                     "Run each variant K times, on K draws of the workload that all variants share "
                     "and of the profile's noise, and show the paired differences");
    arguments.real("--run-sigma", "SHARE", run_sigma_,
                   "With --replicates: how far a session of measurements is off as a whole (one "
                   "standard deviation), where the profile does not say");
    arguments.text("--save-result", "FILE.json", result_path_, "Write the table and every summary");
    arguments.text("--svg", "FILE.svg", svg_path_, "Draw the latency distributions");
    declare_report(arguments, report_path_);
    arguments.flag("--markdown", markdown_, "Print the table as Markdown");
    arguments.flag("--json", json_, "Print the table as JSON");
  }

  int run() override {
    if (vary_.empty()) {
      throw InputError(
          {"command line", "headway compare", "nothing to compare", "--vary KEY=V1,V2,..."});
    }
    if (markdown_ && json_) {
      throw InputError(
          {"command line", "headway compare", "both --markdown and --json", "one of them"});
    }
    const std::vector<Variant> variants = make_variants(vary_);
    if (variants.size() > kMaxVariants) {
      throw InputError({"command line", "--vary", std::to_string(variants.size()) + " combinations",
                        "at most " + std::to_string(kMaxVariants)});
    }
    // All are read before the first is run: a mistake in the last costs no waiting.
    std::vector<Scenario> scenarios;
    for (const Variant& variant : variants)
      scenarios.push_back(scenario_.load(variant.assignments));
    Outputs outputs;
    outputs.claim("--save-result", result_path_);
    outputs.claim("--svg", svg_path_);
    outputs.claim("--report", report_path_);
    std::unique_ptr<OutputFile> file, picture;
    if (!result_path_.empty()) file = std::make_unique<OutputFile>(result_path_);
    if (!svg_path_.empty()) picture = std::make_unique<OutputFile>(svg_path_);
    const std::unique_ptr<OutputFile> report = open_report(report_path_);
    const std::string table = simulate_all(variants, scenarios, {file.get(), report.get()});
    if (picture) picture->write(latency_svg(variants, scenarios.front()));
    // Where a file goes to stdout, the table is talk.
    if (!outputs.to_stdout())
      print_out(table);
    else if (!scenario_.quiet())
      print_err(table);
    if (file) outputs.commit(result_path_, *file);
    if (picture) outputs.commit(svg_path_, *picture);
    if (report) outputs.commit(report_path_, *report);
    return 0;
  }

 private:
  struct Files {
    OutputFile* result;  // null where not asked for
    OutputFile* report;
  };

  // The table as text, and into the files with the rest.
  std::string simulate_all(const std::vector<Variant>& variants,
                           const std::vector<Scenario>& scenarios, const Files& files) {
    const Replicates replicates(scenarios, static_cast<std::size_t>(replicates_.value_or(1)),
                                run_sigma());
    const std::size_t each = replicates.count();
    std::vector<Execution> runs(variants.size() * each);
    if (!svg_path_.empty()) curves_.resize(variants.size());
    if (files.report != nullptr) recorders_.resize(std::min(variants.size(), kMostCurves));
    const RunOptions options = scenario_.run_options();
    if (options.threads > 1 && runs.size() > 1) {
      run_together(variants, replicates, runs, options);
    } else {
      run_in_turn(variants, replicates, runs, options);
    }
    if (!scenario_.quiet()) print_err(replicates.note(runs));
    std::vector<CompareRow> rows;
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const Execution& first = runs[i * each];
      if (!scenario_.quiet()) print_err(labelled(notes_text(first), variants[i].label));
      rows.push_back({variants[i].label, {},
                      explain(variants[i], scenarios[i]) + explain_run(first.summary)});
      for (std::size_t k = 0; k < each; ++k) {
        const Execution& run = runs[i * each + k];
        rows.back().runs.push_back(run.summary);
        if (files.result != nullptr) results.push_back(result_json(run.summary, run.info));
      }
    }
    const std::string title = scenarios.front().name;
    const std::uint64_t seed = scenarios.front().seed;
    if (files.result != nullptr) {
      nlohmann::ordered_json all = compare_json(rows, title);
      if (each > 1) all["paired"] = paired_json(rows, seed);
      all["results"] = std::move(results);
      files.result->write(all.dump(2) + "\n");
    }
    if (files.report != nullptr) files.report->write(report_text(rows, runs, scenarios));
    return table(rows, title, seed);
  }

  std::string report_text(const std::vector<CompareRow>& rows, const std::vector<Execution>& runs,
                          const std::vector<Scenario>& scenarios) const {
    const std::size_t each = runs.size() / rows.size();
    ReportHead head{scenarios.front().name, command_line(), {}};
    std::vector<ReportRun> shown;
    std::vector<ParetoPoint> points;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Execution& run = runs[i * each];
      points.push_back(pareto_point(rows[i].label, gpus_of(scenarios[i]), run.summary, true));
      if (i >= recorders_.size()) continue;
      for (std::string& note : report_notes(run, rows[i].label + ": ")) {
        head.notes.push_back(std::move(note));
      }
      shown.push_back(report_run(rows[i].label, rows[i].explanation, run, recorders_[i]));
    }
    const ComparedRuns compared{rows, shown, points, scenarios.front().seed};
    return report_html(report_page(), [&](std::size_t columns) {
      return compare_report(head, compared, columns);
    });
  }

  // Run i of them all: replicate i % K of variant i / K. The picture shows the first replicates.
  Execution run_one(std::size_t i, const Replicates& replicates, bool progress,
                    const RunOptions& options) {
    const std::size_t variant = i / replicates.count(), k = i % replicates.count();
    std::vector<Observer*> extra;
    if (!svg_path_.empty() && k == 0) extra.push_back(&curves_[variant]);
    const bool shown = k == 0 && variant < recorders_.size();
    if (shown) extra.push_back(&recorders_[variant]);
    return replicates.run(variant, k, extra, progress, options, shown);
  }

  std::optional<double> run_sigma() const {
    if (!run_sigma_ || (replicates_ && *run_sigma_ >= 0 && *run_sigma_ <= 1)) return run_sigma_;
    throw InputError({"command line", "--run-sigma", std::to_string(*run_sigma_),
                      "a share from 0 to 1, with --replicates"});
  }

  static std::string counted(std::size_t done, std::size_t all, const std::string& label) {
    return std::to_string(done) + "/" + std::to_string(all) + " " + label + "\n";
  }

  void run_in_turn(const std::vector<Variant>& variants, const Replicates& replicates,
                   std::vector<Execution>& runs, const RunOptions& options) {
    const bool progress = wants_progress(scenario_.quiet());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::string& label = variants[i / replicates.count()].label;
      if (progress) print_err("\r\x1b[K" + counted(i + 1, runs.size(), label));
      runs[i] = run_one(i, replicates, progress, options);
    }
  }

  // Each run on one thread, as many at once as there are threads.
  void run_together(const std::vector<Variant>& variants, const Replicates& replicates,
                    std::vector<Execution>& runs, RunOptions options) {
    const int threads = std::exchange(options.threads, 1);
    const bool progress = wants_progress(scenario_.quiet());
    std::atomic<std::size_t> done = 0;
    parallel_for(runs.size(), threads, [&](std::size_t i) {
      runs[i] = run_one(i, replicates, false, options);
      if (progress) print_err(counted(++done, runs.size(), variants[i / replicates.count()].label));
    });
  }

  std::string table(const std::vector<CompareRow>& rows, const std::string& title,
                    std::uint64_t seed) const {
    const bool paired = replicates_.has_value();
    if (json_) {
      nlohmann::ordered_json all = compare_json(rows, title);
      if (paired) all["paired"] = paired_json(rows, seed);
      return all.dump(2) + "\n";
    }
    if (markdown_) {
      return compare_markdown(rows, title) + (paired ? paired_markdown(rows, seed) : "");
    }
    return compare_text(rows, title, use_colour(stdout)) + (paired ? paired_text(rows, seed) : "");
  }

  std::string latency_svg(const std::vector<Variant>& variants, const Scenario& scenario) const {
    std::vector<CdfPanel> panels{{"Time to first token", scenario.slo.ttft_ms.value_or(0), {}},
                                 {"Time per output token", scenario.slo.tpot_ms.value_or(0), {}},
                                 {"End-to-end latency", scenario.slo.e2el_ms.value_or(0), {}}};
    constexpr LatencyMetric kMetrics[] = {LatencyMetric::kTtft, LatencyMetric::kTpot,
                                          LatencyMetric::kE2el};
    for (std::size_t p = 0; p < panels.size(); ++p) {
      for (std::size_t i = 0; i < variants.size(); ++i) {
        panels[p].curves.push_back({variants[i].label, curves_[i].cdf_ms(kMetrics[p], 200)});
      }
    }
    return cdf_svg(panels, scenario.name);
  }

  // A line on a policy says what its rule is; other keys explain themselves.
  static std::string explain(const Variant& variant, const Scenario& scenario) {
    for (const Assignment& assignment : variant.assignments) {
      if (assignment.key == "engine.scheduler")
        return scheduler_help(scenario.engine.scheduler) + ". ";
    }
    return "";
  }

  static std::string labelled(const std::string& notes, const std::string& label) {
    std::string text;
    for (std::size_t begin = 0; begin < notes.size();) {
      const std::size_t end = notes.find('\n', begin);
      text += label + ": " + notes.substr(begin, end - begin) + "\n";
      begin = end + 1;
    }
    return text;
  }

  ScenarioArguments scenario_;
  std::vector<std::string> vary_;
  std::optional<std::int64_t> replicates_;
  std::optional<double> run_sigma_;
  std::string result_path_, svg_path_, report_path_;
  std::deque<LatencyMetrics> curves_;    // by variant, when a picture is wanted
  std::deque<RunRecorder> recorders_;    // of the first variants, when a report is
  bool markdown_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace headway
