#include "sim/report/capacity_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

std::string number(const CapacityOptions& o, double load) {
  return o.axis == CapacityAxis::kRate ? fmt::format("{:.4g}", load) : fmt::format("{:.0f}", load);
}

std::string values_text(const Requirements& r, const RunSummary& run) {
  std::string text;
  for (const SloTarget& target : r.targets) {
    text += (text.empty() ? "" : ", ") + describe_value(target, run);
  }
  if (r.attainment > 0) {
    text += (text.empty() ? "" : ", ") +
            fmt::format("{:.2f} % within the limits", 100 * run.slo_attainment.value_or(0));
  }
  return text;
}

std::string row(const char* head, const std::string& text) {
  return fmt::format("  {:<9}{}\n", head, text);
}

// The bound up to which (of replicas: down to which) nothing was missed.
std::string always_text(const CapacityOptions& o, double bound) {
  if (o.axis != CapacityAxis::kReplicas) {
    return "the SLO is always met: no limit up to " + load_text(o, bound);
  }
  if (bound <= 1) return "the SLO is always met: 1 replica is enough";
  return fmt::format("the SLO is always met: {} replicas are enough, fewer were not tried (--low)",
                     number(o, bound));
}

std::string checks_text(const Scenario& s, const CapacityOptions& o, const CapacityAnswer& a) {
  std::string list;
  for (const double load : a.checked) {
    list += (list.empty() ? "" : ", ") + number(o, shown_load(s, o, a, load));
  }
  if (list.empty()) return "nothing beside the answer could be";
  if (a.odd.empty()) return list + ": good below and missed above, as it should be";
  std::string odd;
  for (const double load : a.odd) {
    odd += (odd.empty() ? "" : ", ") + number(o, shown_load(s, o, a, load));
  }
  return list + ": NOT monotone, the answer is one edge of several: the other way round at " + odd;
}

std::string found_text(const Scenario& s, const CapacityOptions& o, const CapacityAnswer& a) {
  if (a.kind == Edge::Kind::kAlwaysMet) {
    return always_text(o, shown_load(s, o, a, a.load));
  }
  std::string answer = load_text(o, shown_load(s, o, a, a.load));
  const std::string low = number(o, shown_load(s, o, a, a.low));
  const std::string high = number(o, shown_load(s, o, a, a.high));
  const std::size_t draws = a.by_seed.size();
  if (draws < 2) {
    answer += fmt::format("  (between {} and {}; one workload)", low, high);
  } else if (o.axis == CapacityAxis::kReplicas) {
    answer += fmt::format("  (enough for each of {} draws of the workload, which need {} to {})",
                          draws, low, high);
  } else {
    answer += fmt::format("  (95 % interval {} to {}, {} draws of the workload)", low, high, draws);
  }
  return answer;
}

}  // namespace

const char* capacity_unit(const CapacityOptions& o) {
  switch (o.axis) {
    case CapacityAxis::kRate: return "requests/s";
    case CapacityAxis::kConcurrency: return "requests in flight";
    default: return "replicas";
  }
}

const char* capacity_question(const CapacityOptions& o) {
  switch (o.axis) {
    case CapacityAxis::kRate: return "the highest request rate";
    case CapacityAxis::kConcurrency: return "the most requests in flight";
    default: return "the fewest replicas";
  }
}

std::string requirement_text(const Requirements& r) {
  std::string text;
  for (const SloTarget& target : r.targets) text += (text.empty() ? "" : ", ") + describe(target);
  if (r.attainment > 0) {
    text += (text.empty() ? "" : ", ") +
            fmt::format("{:g} % of requests within the scenario's limits", 100 * r.attainment);
  }
  return text;
}

std::string load_text(const CapacityOptions& o, double shown) {
  return number(o, shown) + " " + capacity_unit(o);
}

std::string capacity_answer(const Scenario& s, const CapacityOptions& o, const CapacityAnswer& a) {
  return fmt::format("{}: {}", capacity_question(o), found_text(s, o, a));
}

std::string capacity_text(const Scenario& s, const CapacityOptions& o, const CapacityAnswer& a) {
  std::string out = fmt::format("Capacity of {}: {}\n", s.name, capacity_question(o));
  out += row("SLO", requirement_text(o.requirements) + ", all served, no growing backlog");
  out += row("answer", found_text(s, o, a));
  if (a.kind == Edge::Kind::kAlwaysMet) {
    out += row("at it", values_text(o.requirements, a.at.summary));
    return out + row("work", fmt::format("{} runs", a.runs));
  }
  out += row("at it", values_text(o.requirements, a.at.summary) +
                          fmt::format(", {:.4g} output tokens/s on {} GPU{}",
                                      a.at.summary.output_throughput, a.gpus, a.gpus > 1 ? "s" : ""));
  if (a.usd_per_million_output_tokens > 0) {
    out += row("cost", fmt::format("{:.3g} USD a million output tokens, {:.3g} a million tokens",
                                   a.usd_per_million_output_tokens, a.usd_per_million_tokens));
  }
  if (!a.beyond.miss.empty()) {
    out += row("beyond", load_text(o, shown_load(s, o, a, a.beyond.load)) + ": " + a.beyond.miss);
  }
  out += row("checked", checks_text(s, o, a));
  return out + row("work", fmt::format("{} runs", a.runs));
}

Json capacity_json(const Scenario& s, const CapacityOptions& o, const CapacityAnswer& a) {
  Json targets = Json::array(), seeds = Json::array(), checked = Json::array();
  for (const SloTarget& target : o.requirements.targets) targets.push_back(describe(target));
  for (const double load : a.by_seed) seeds.push_back(shown_load(s, o, a, load));
  for (const double load : a.checked) checked.push_back(shown_load(s, o, a, load));
  Json out = {{"schema_version", 1},
              {"scenario", s.name},
              {"find", capacity_unit(o)},
              {"slo", targets},
              {"attainment", o.requirements.attainment},
              {"met", a.kind == Edge::Kind::kAlwaysMet ? "always" : "up to the answer"},
              {"answer", shown_load(s, o, a, a.load)},
              {"low", shown_load(s, o, a, a.low)},
              {"high", shown_load(s, o, a, a.high)},
              {"by_seed", seeds},
              {"beyond", {{"load", shown_load(s, o, a, a.beyond.load)}, {"miss", a.beyond.miss}}},
              {"checked", checked},
              {"monotone", a.odd.empty()},
              {"gpus", a.gpus},
              {"output_throughput", a.at.summary.output_throughput},
              {"usd_per_million_output_tokens", a.usd_per_million_output_tokens},
              {"usd_per_million_tokens", a.usd_per_million_tokens},
              {"runs", a.runs}};
  Json values = Json::object();
  for (const SloTarget& target : o.requirements.targets) {
    values[describe(target)] = value_of(target, a.at.summary);
  }
  out["at_answer_ms"] = values;
  return out;
}

}  // namespace headway
