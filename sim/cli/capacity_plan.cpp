#include "sim/cli/capacity_plan.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/cli/console.h"
#include "sim/cli/execute.h"
#include "sim/cli/outputs.h"
#include "sim/cli/report_file.h"
#include "sim/cli/sweep_progress.h"
#include "sim/core/build_info.h"
#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "sim/core/parallel.h"
#include "sim/report/html_page.h"
#include "sim/report/html_plan.h"
#include "sim/report/pareto_text.h"
#include "sim/scenario/check.h"

namespace headway {
namespace {

// What the points' scenarios must have, known before the first is run.
void check_points(const Plan& plan, const CapacityArguments& capacity, int threads) {
  check_plan(plan, threads, Contradictions::kListed);
  for (const PlanPoint& point : plan_points(plan)) {
    try {
      capacity.check(scenario_of(plan, point));
    } catch (const ContradictionError&) {
      // is listed later
    }
  }
}

int exit_code(const ParetoTable& table, bool strict) {
  const auto count = [&](ParetoSetup::Status status) {
    return std::count_if(table.points.begin(), table.points.end(),
                         [&](const ParetoSetup& p) { return p.status == status; });
  };
  const auto failed = count(ParetoSetup::Status::kFailed);
  const auto refused = count(ParetoSetup::Status::kRefused);
  if (failed > 0)
    throw StudyError(3, std::to_string(failed) + " setups failed (why is said there)");
  if (strict && refused > 0) {
    throw StudyError(3, std::to_string(refused) + " setups cannot run (--strict)");
  }
  if (count(ParetoSetup::Status::kOk) > 0) return 0;
  if (count(ParetoSetup::Status::kMissed) == 0) throw StudyError(3, "none of the setups can run");
  throw StudyError(4, "none of the setups meets the SLO");
}

}  // namespace

void CapacityPlan::declare(Arguments& arguments) {
  arguments.text(
      "--plan", "PLAN.json", plan_path_,
      "Instead of a scenario, a plan as of `headway sweep`: find the load of each of its "
      "setups, and of each number of GPUs those that no other one beats");
  arguments.flag("--fixed-load", fixed_load_,
                 "With --plan: no search, each setup at the load that its scenario states");
  arguments.text("-o,--output", "DIR", folder_,
                 "With --plan: keep finished setups there, and go on from those that are");
  arguments.flag("--force", force_, "With -o: find finished setups' loads again");
  arguments.flag("--all", all_, "With --plan: print dominated setups too");
  arguments.flag("--strict", strict_,
                 "With --plan: setups that cannot run end it with exit code 3");
  arguments.text("--csv", "FILE.csv", csv_path_, "With --plan: write every setup as a row");
  arguments.text("--svg", "FILE.svg", svg_path_, "With --plan: draw the fronts");
}

std::string CapacityPlan::plan_flag() const {
  if (fixed_load_) return "--fixed-load";
  if (!folder_.empty()) return "--output";
  if (force_) return "--force";
  if (all_) return "--all";
  if (strict_) return "--strict";
  if (!csv_path_.empty()) return "--csv";
  return svg_path_.empty() ? "" : "--svg";
}

int CapacityPlan::run(const CapacityArguments& capacity, const Common& common) {
  if (force_ && folder_.empty()) {
    throw InputError({"command line", "--force", "no folder", "-o DIR beside it"});
  }
  const ParetoOptions how = options(capacity, common);
  const Plan plan = pareto_plan(read_plan(plan_path_), how);
  check_points(plan, capacity, common.threads);
  Outputs outputs;
  outputs.claim("--save-result", common.result_path);
  outputs.claim("--csv", csv_path_);
  outputs.claim("--svg", svg_path_);
  outputs.claim("--report", common.report_path);
  const std::unique_ptr<OutputFile> report = open_report(common.report_path);
  const ParetoTable table = pareto_table(plan, how, results(plan, how, common));
  write(table, common, report.get());
  return exit_code(table, strict_);
}

ParetoOptions CapacityPlan::options(const CapacityArguments& capacity, const Common& common) const {
  ParetoOptions o;
  o.fixed_load = fixed_load_;
  if (const std::string flag = capacity.search_flag(); fixed_load_ && !flag.empty()) {
    throw InputError({"command line", flag, "a search beside --fixed-load", "one of them"});
  }
  o.search = capacity.options(capacity.requirements(!fixed_load_));
  o.search.step_by_step = common.step_by_step;
  return o;
}

std::vector<PointResult> CapacityPlan::results(const Plan& plan, const ParetoOptions& options,
                                               const Common& common) const {
  std::vector<PointResult> all(static_cast<std::size_t>(point_count(plan)));
  std::optional<SweepFolder> folder;
  SweepCounts counts;
  counts.total = point_count(plan);
  std::vector<std::int64_t> left(all.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = static_cast<std::int64_t>(i);
  const PointRunner runner = pareto_runner(options);
  if (!folder_.empty()) {
    folder = SweepFolder::open(folder_, plan);
    left = Sweep(*folder, program_version(), runner).left({}, force_, counts);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = folder->read(static_cast<std::int64_t>(i));
  }
  SweepProgress progress(wants_progress(common.quiet), counts);
  std::mutex one_at_a_time;
  parallel_for(left.size(), common.threads, [&](std::size_t i) {
    PointResult& result = all[static_cast<std::size_t>(left[i])];
    result = compute_point(plan, left[i], program_version(), runner);
    if (folder) folder->write(plan_point(plan, left[i]), result);
    const std::lock_guard lock(one_at_a_time);
    progress.add(result.status);
  });
  return all;
}

// The files appear together, after the last point.
void CapacityPlan::write(const ParetoTable& table, const Common& common, OutputFile* report) const {
  Outputs outputs;
  const std::string json = pareto_json(table).dump(2) + "\n";
  const std::string text = common.json ? json : pareto_text(table, all_);
  const bool to_stdout = common.result_path == "-" || csv_path_ == "-" || svg_path_ == "-" ||
                         common.report_path == "-";
  if (!to_stdout)
    print_out(text);
  else if (!common.quiet)
    print_err(text);
  const auto file = [&](const std::string& path, const std::string& content) {
    if (path.empty()) return;
    OutputFile out(path);
    out.write(content);
    outputs.commit(path, out);
  };
  file(common.result_path, json);
  file(csv_path_, pareto_csv(table));
  file(svg_path_, pareto_svg(table));
  if (report == nullptr) return;
  const ReportHead head{table.name, common.command_line, {}};
  report->write(report_html(report_page(), [&](std::size_t) { return plan_report(head, table); }));
  outputs.commit(common.report_path, *report);
}

}  // namespace headway
