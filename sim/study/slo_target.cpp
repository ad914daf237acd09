#include "sim/study/slo_target.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

constexpr std::array<const char*, 4> kMetrics = {"ttft", "tpot", "itl", "e2el"};
constexpr std::array<const char*, 4> kMetricTitles = {"TTFT", "TPOT", "ITL", "E2EL"};
constexpr std::array<const char*, 5> kStatistics = {"mean", "p50", "p90", "p95", "p99"};

[[noreturn]] void refuse(const std::string& text, const std::string& expected) {
  throw InputError({"command line", "--slo", "\"" + text + "\"", expected});
}

template <std::size_t N>
std::size_t index_in(const std::array<const char*, N>& names, const std::string& name,
                     const std::string& text, const char* what) {
  for (std::size_t i = 0; i < N; ++i) {
    if (name == names[i]) return i;
  }
  refuse(text, std::string(what) + ": " + one_of(name, {names.begin(), names.end()}));
}

const Distribution& distribution(const SloTarget& target, const RunSummary& run) {
  switch (target.metric) {
    case SloTarget::Metric::kTtft: return run.ttft_ms;
    case SloTarget::Metric::kTpot: return run.tpot_ms;
    case SloTarget::Metric::kItl: return run.itl_ms;
    default: return run.e2el_ms;
  }
}

std::string name_of(const SloTarget& target) {
  return std::string(kStatistics[static_cast<std::size_t>(target.statistic)]) + " " +
         kMetricTitles[static_cast<std::size_t>(target.metric)];
}

}  // namespace

SloTarget parse_slo_target(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  if (second == std::string::npos) refuse(text, "METRIC:STATISTIC:MILLISECONDS, as in ttft:p99:2000");
  SloTarget target;
  const std::string metric = text.substr(0, first);
  const std::string statistic = text.substr(first + 1, second - first - 1);
  target.metric = static_cast<SloTarget::Metric>(index_in(kMetrics, metric, text, "a metric"));
  target.statistic =
      static_cast<SloTarget::Statistic>(index_in(kStatistics, statistic, text, "a statistic"));
  const char* const begin = text.data() + second + 1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, target.limit_ms);
  const bool number = error == std::errc() && stop == end && begin != end;
  if (!number || !std::isfinite(target.limit_ms) || target.limit_ms <= 0) {
    refuse(text, "a limit in milliseconds above 0");
  }
  return target;
}

double value_of(const SloTarget& target, const RunSummary& run) {
  const Distribution& d = distribution(target, run);
  switch (target.statistic) {
    case SloTarget::Statistic::kMean: return d.mean;
    case SloTarget::Statistic::kP50: return d.p50;
    case SloTarget::Statistic::kP90: return d.p90;
    case SloTarget::Statistic::kP95: return d.p95;
    default: return d.p99;
  }
}

std::string describe(const SloTarget& target) {
  return fmt::format("{} <= {:g} ms", name_of(target), target.limit_ms);
}

std::string describe_value(const SloTarget& target, const RunSummary& run) {
  return fmt::format("{} {:.4g} ms", name_of(target), value_of(target, run));
}

std::string first_miss(const Requirements& requirements, const RunSummary& run) {
  if (run.completed == 0) return "no request was served";
  if (run.failed > 0) return fmt::format("{} of {} requests failed", run.failed, run.arrived);
  for (const SloTarget& target : requirements.targets) {
    if (value_of(target, run) > target.limit_ms) return describe_value(target, run);
  }
  if (requirements.attainment > 0 && run.slo_attainment.value_or(0) < requirements.attainment) {
    return fmt::format("{:.2f} % of requests within the limits", 100 * run.slo_attainment.value_or(0));
  }
  const Verdict& verdict = run.verdict;
  if (verdict.load == Load::kOverloaded && verdict.queueing_share > kBacklogQueueing) {
    return fmt::format("overloaded: the backlog grows, {:.0f} % of a request's time is queueing",
                       100 * verdict.queueing_share);
  }
  return "";
}

}  // namespace headway
