#include "sim/report/causes_text.h"

#include <fmt/format.h>

#include "sim/core/number_text.h"
#include "sim/report/cause_names.h"
#include "sim/report/names.h"

namespace headway {
namespace {

constexpr double kWorthNaming = 0.005;  // of the whole; smaller parts are left out

std::string ms_text(double ms) { return ms == 0 ? "0" : time_text(ms / 1e3); }

double part_share(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

std::string cause_row(const std::string& title, double ms, double whole_ms) {
  return fmt::format("  {:<38}{:>11}{:>7.1f} %\n", title, ms_text(ms), 100 * part_share(ms, whole_ms));
}

std::string parts(const std::array<double, kLatencyParts>& parts_ms,
                  const std::array<double, kHeldBackCauses>& queue_ms, double whole_ms) {
  std::string out;
  for (std::size_t i = 0; i < kLatencyParts; ++i) {
    if (i >= kUsualParts && parts_ms[i] == 0) continue;
    out += cause_row(std::string(kPartTitles[i]), parts_ms[i], whole_ms);
    if (i != static_cast<std::size_t>(LatencyPart::kQueue)) continue;
    for (std::size_t c = 0; c < kHeldBackCauses; ++c) {
      if (queue_ms[c] < kWorthNaming * whole_ms) continue;
      out += cause_row("  " + std::string(kCauseTexts[c]), queue_ms[c], whole_ms);
    }
  }
  return out;
}

std::string change_of(double before, double after) {
  if (before <= 0) return "";
  return fmt::format(" ({:+.0f} %)", 100 * (after / before - 1) + 0.0);
}

std::string figures(const RunSummary& before, const RunSummary& after) {
  const auto latency = [](const char* name, double a, double b) {
    return fmt::format("{} {} -> {}{}", name, ms_text(a), ms_text(b), change_of(a, b));
  };
  return latency("p99 TTFT", before.ttft_ms.p99, after.ttft_ms.p99) + ", " +
         latency("mean E2EL", before.e2el_ms.mean, after.e2el_ms.mean) +
         fmt::format(", {:.2f} -> {:.2f} requests/s", before.request_throughput,
                     after.request_throughput);
}

std::string suspects_line(const Bottleneck& b) {
  std::string out;
  for (const SuspectShare& s : b.suspects) {
    if (s.share() < kWorthNaming) continue;
    out += fmt::format("  {:<16}{:>9.1f} % of the slowest TTFTs{:>9.1f} % of mean E2EL\n",
                       suspect_name(s.suspect), 100 * s.of_tail_ttft, 100 * s.of_mean_e2el);
  }
  return out;
}

std::string tried_text(const Bottleneck& b, const RunSummary& before) {
  std::string out;
  for (std::size_t i = 0; i < b.tried.size(); ++i) {
    const Relief& r = b.tried[i];
    out += fmt::format("  {}: --set {}={} ({})\n", suspect_name(r.suspect), r.change.key,
                       r.change.value, r.meaning);
    if (!r.not_run.empty()) {
      out += "    cannot be run: " + r.not_run + "\n";
      continue;
    }
    out += "    " + figures(before, r.after.summary) + "\n";
    if (r.helps) {
      out += "    It helps.\n";
    } else if (i + 1 == b.tried.size()) {
      out += "    It does not help.\n";
    } else {
      const bool same = b.tried[i + 1].suspect == r.suspect;
      out += std::string("    It does not help; the next ") + (same ? "change" : "suspect") + ":\n";
    }
  }
  return out;
}

std::string bottleneck_text(const Bottleneck& b, const RunSummary& before) {
  std::string out = "What it is short of, by share of the times\n" + suspects_line(b);
  const bool found = !b.tried.empty() && b.tried.back().helps;
  if (found) {
    out += fmt::format("\nFirst bottleneck: {}, checked by running a change that relieves it\n",
                       suspect_name(b.tried.back().suspect));
  } else if (b.tried.empty()) {
    out += "\nNo bottleneck: there is nothing to relieve\n";
  } else {
    out += "\nNo bottleneck was confirmed: no change that was run helps by a tenth\n";
  }
  return out + tried_text(b, before);
}

}  // namespace

std::string causes_text(const ExplainedRun& run, const Bottleneck& bottleneck,
                        const Scenario& scenario) {
  const RunSummary& s = run.summary;
  const RunCausesResult& c = run.causes;
  std::string out = fmt::format("{}: {} of {} requests finished, p99 TTFT {}, mean E2EL {}\n\n",
                                scenario.name, s.completed, s.arrived, ms_text(s.ttft_ms.p99),
                                ms_text(s.e2el_ms.mean));
  if (s.completed == 0) return out + "No request finished: there is nothing to explain.\n";
  out += fmt::format("Where the p99 TTFT came from (the {} slowest, {} or more; mean {})\n",
                     c.tail.requests, ms_text(c.tail_from_ms), ms_text(c.tail.ttft_ms));
  out += parts(c.tail.parts_ms, c.tail.queue_ms, c.tail.ttft_ms);
  if (!c.whole_tail) out += "  (of the slowest 1 % the slowest alone: there are too many to keep)\n";
  out += fmt::format("\nWhere the mean E2EL came from ({})\n", ms_text(s.e2el_ms.mean));
  out += parts(s.attribution_ms, c.all.queue_ms, s.e2el_ms.mean);
  if (c.derived) {
    out += "  (what held the line back is derived from the steps' facts: the scheduler does not say)\n";
  }
  const MinuteLoad& m = c.busiest;
  out += fmt::format(
      "\nBusiest minute: {} s to {} s: {} arrivals; {:.1f} requests running and {:.1f} waiting; "
      "{} prompt and {} answer tokens computed; KV up to {:.0f} %; {} preemptions\n",
      60 * m.minute, 60 * (m.minute + 1), m.arrivals, m.mean_running, m.mean_waiting,
      m.prefill_tokens, m.decode_tokens, 100 * m.kv_peak_share, m.preemptions);
  out += "Slowest requests (--request ID tells one's life):";
  for (const RequestRecord& r : c.slowest) {
    out += fmt::format(" {} ({})", r.id, time_text((r.finish - r.arrival).seconds()));
  }
  return out + "\n\n" + bottleneck_text(bottleneck, s);
}

}  // namespace headway
