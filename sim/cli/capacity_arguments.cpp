#include "sim/cli/capacity_arguments.h"

#include <fmt/format.h>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

constexpr std::int64_t kMostSeeds = 1000;
constexpr double kMostLoad = 1e12;

CapacityAxis parse_capacity_axis(const std::string& name) {
  if (name.empty() || name == "rate") return CapacityAxis::kRate;
  if (name == "concurrency") return CapacityAxis::kConcurrency;
  if (name == "replicas") return CapacityAxis::kReplicas;
  throw InputError({"command line", "--find", "\"" + name + "\"",
                    one_of(name, {"rate", "concurrency", "replicas"})});
}

double within(const std::optional<double>& value, const char* flag, double fallback, double least,
              double most) {
  if (!value) return fallback;
  if (*value > 0 && *value >= least && *value <= most) return *value;  // not what is no number
  throw InputError({"command line", flag, fmt::format("{:g}", *value),
                    least > 0 ? fmt::format("a number, {:g} to {:g}", least, most)
                              : fmt::format("a number above 0, at most {:g}", most)});
}

}  // namespace

void CapacityArguments::declare(Arguments& arguments) {
  arguments.list("--slo", "METRIC:STAT:MS", slos_,
                 "A limit, such as ttft:p99:2000 or tpot:mean:50 (may be repeated); metrics ttft, "
                 "tpot, itl, e2el; statistics mean, p50, p90, p95, p99");
  arguments.real("--attainment", "SHARE", attainment_,
                 "The share of requests within all of the scenario's own limits (slo) to reach");
  arguments.text("--find", "WHAT", find_,
                 "rate (default), concurrency (a closed loop's), or replicas (the fewest)");
  arguments.number("--seeds", "K", seeds_, {1, kMostSeeds}, "Draws of the workload (default 5)");
  arguments.real("--tolerance", "SHARE", tolerance_, "Of a search for a rate (default 0.01)");
  arguments.real("--low", "LOAD", low_, "Look no lower (of a trace: times its own rate)");
  arguments.real("--high", "LOAD", high_, "Look no higher");
  arguments.number("--max-runs", "N", max_runs_, 1, "Give up after so many runs (default 400)");
}

Requirements CapacityArguments::requirements(bool required) const {
  Requirements r;
  for (const std::string& slo : slos_) r.targets.push_back(parse_slo_target(slo));
  r.attainment = within(attainment_, "--attainment", 0, 0, 1);
  if (required && !r.any()) {
    throw InputError({"command line", "headway capacity", "no SLO",
                      "--slo METRIC:STATISTIC:MILLISECONDS, or --attainment with limits in the "
                      "scenario's slo"});
  }
  return r;
}

CapacityOptions CapacityArguments::options(const Requirements& requirements) const {
  CapacityOptions o;
  o.axis = parse_capacity_axis(find_);
  o.requirements = requirements;
  o.tolerance = within(tolerance_, "--tolerance", o.tolerance, kLeastTolerance, 1);
  o.low = within(low_, "--low", 0, 0, kMostLoad);
  o.high = within(high_, "--high", 0, 0, kMostLoad);
  if (o.low > 0 && o.high > 0 && o.low >= o.high) {
    throw InputError({"command line", "--low", fmt::format("{:g}", o.low), "less than --high"});
  }
  o.seeds = static_cast<int>(seeds_.value_or(o.seeds));
  o.max_runs = max_runs_.value_or(o.max_runs);
  return o;
}

void CapacityArguments::check(const Scenario& scenario) const {
  if (!attainment_ || scenario.slo.any()) return;
  throw InputError({scenario.file, "slo", "no limits",
                    "ttft_ms, tpot_ms or e2el_ms, of which --attainment is the share"});
}

std::string CapacityArguments::search_flag() const {
  if (!find_.empty()) return "--find";
  if (seeds_) return "--seeds";
  if (tolerance_) return "--tolerance";
  if (low_) return "--low";
  if (high_) return "--high";
  return max_runs_ ? "--max-runs" : "";
}

}  // namespace headway
