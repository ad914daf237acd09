#include "sim/report/terminal_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "sim/core/text_table.h"
#include "sim/report/names.h"

namespace headway {
namespace {

constexpr int kBlockWidth = 50;

// vLLM's rows: a label of 40 columns, a blank, the value left-aligned in 10.
class VllmBlock {
 public:
  void rule(std::string_view title, char fill) {
    out_ += fill == '=' ? fmt::format("{:=^{}}\n", title, kBlockWidth)
                        : fmt::format("{:-^{}}\n", title, kBlockWidth);
  }
  void row(std::string_view label, std::int64_t value) {
    out_ += fmt::format("{:<40} {:<10}\n", label, value);
  }
  void row(std::string_view label, double value) {
    out_ += fmt::format("{:<40} {:<10.2f}\n", label, value);
  }
  void latency(std::string_view title, std::string_view name, const Distribution& d) {
    rule(title, '-');
    row(fmt::format("Mean {} (ms):", name), d.mean);
    row(fmt::format("Median {} (ms):", name), d.median);
    row(fmt::format("P99 {} (ms):", name), d.p99);
  }
  const std::string& text() const { return out_; }

 private:
  std::string out_;
};

// Ours: label, right-aligned value, unit, share.
std::string share_row(std::string_view label, double ms, double share) {
  return fmt::format("{:<24}{:>13.2f} ms{:>8.1f} %\n", label, ms, 100 * share);
}
std::string percent_row(std::string_view label, double share) {
  return fmt::format("{:<40}{:>8.1f} %\n", label, 100 * share);
}
std::string value_row(std::string_view label, const std::string& value) {
  return fmt::format("{:<24}{:>26}\n", label, value);
}
std::string rule(std::string_view title) { return fmt::format("{:-^{}}\n", title, kBlockWidth); }

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string latency_section(const RunSummary& s) {
  std::string out = rule("Where the mean latency went");
  for (std::size_t i = 0; i < kLatencyParts; ++i) {
    if (i >= kUsualParts && s.attribution_ms[i] == 0) continue;
    out +=
        share_row(kPartTitles[i], s.attribution_ms[i], ratio(s.attribution_ms[i], s.e2el_ms.mean));
  }
  if (s.mean_held_ms > 0) {
    out += fmt::format("{:<24}{:>13.2f} ms\n", "Held back before sending", s.mean_held_ms);
  }
  return out;
}

std::string engine_section(const RunSummary& s, const RunInfo& info) {
  const UtilisationSummary& e = s.engine;
  const std::int64_t blocks = info.num_gpu_blocks > 0 ? info.num_gpu_blocks : e.kv_blocks_total;
  std::string out = rule("Engine");
  out += value_row("Steps", fmt::format("{}", e.steps));
  if (info.steps_skipped > 0 && e.steps > 0) {
    out += percent_row("Steps skipped ahead", static_cast<double>(info.steps_skipped) /
                                                  static_cast<double>(e.steps));
  }
  out += value_row("Mean step", fmt::format("{:.2f} ms", e.mean_step_ms));
  out += value_row("Mean batch", fmt::format("{:.1f} sequences", e.mean_batch));
  out += value_row("Mean running / waiting",
                   fmt::format("{:.1f} / {:.1f}", e.mean_running, e.mean_waiting));
  out += percent_row("Busy", e.busy_share);
  out += value_row("KV peak", fmt::format("{} of {} blocks", e.kv_peak_blocks, blocks));
  if (!info.kv_layout.empty()) out += fmt::format("KV: {}\n", info.kv_layout);
  out += percent_row("KV peak, of the cache", e.kv_peak_share);
  out += percent_row("KV mean, of the cache while busy", e.kv_mean_share);
  if (e.kv_internal_waste > 0) out += percent_row("KV reserved and empty", e.kv_internal_waste);
  if (e.kv_external_waste > 0) out += percent_row("KV free but scattered", e.kv_external_waste);
  if (info.prefix_queries > 0) {
    out += percent_row("Prefix cache hits", static_cast<double>(info.prefix_hits) /
                                                static_cast<double>(info.prefix_queries));
  }
  if (info.host_hits > 0) {
    out += percent_row("  of them in host memory", static_cast<double>(info.host_hits) /
                                                       static_cast<double>(info.prefix_hits));
  }
  if (info.transfers) {
    const TransferInfo& t = *info.transfers;
    out += value_row("KV sent on, requests", fmt::format("{}", t.transfers));
    out += value_row("KV transfer, mean", fmt::format("{:.2f} ms", t.mean_ms));
    out += value_row("  of it waiting", fmt::format("{:.2f} ms", t.mean_wait_ms));
    out += percent_row("Links of senders, utilised", t.link_utilisation);
  }
  if (info.speculation) {
    const SpeculationInfo& spec = *info.speculation;
    out += value_row("Acceptance length", fmt::format("{:.2f} tokens", spec.mean_acceptance_length));
    std::string rates;
    for (double rate : spec.per_position) rates += fmt::format(" {:.2f}", rate);
    out += value_row("Accepted at position", rates.empty() ? "-" : rates.substr(1));
  }
  if (info.sharing) {
    const SharingInfo& sharing = *info.sharing;
    out += value_row("Samples or beams", fmt::format("{} of {} requests", sharing.sequences,
                                                     sharing.requests));
    out += value_row("Forks, drops", fmt::format("{}, {}", sharing.forks, sharing.drops));
    out += value_row("Blocks copied on write", fmt::format("{}", sharing.copied_blocks));
    out += value_row("KV peak, nothing shared",
                     fmt::format("{} blocks", sharing.peak_blocks_unshared));
    out += percent_row("KV saved by sharing, mean", sharing.saving);
  }
  out += value_row("Preemptions", fmt::format("{}", e.preemptions));
  if (e.recomputed_tokens > 0) {
    out += value_row("Recomputed tokens", fmt::format("{}", e.recomputed_tokens));
  }
  return out;
}

std::string pools_section(const RunInfo& info) {
  std::string out = info.pools.empty() ? "" : rule("Pools");
  for (const PoolInfo& p : info.pools) {
    out += value_row(p.name, fmt::format("{} replica{}, {} GPU{}", p.replicas,
                                         p.replicas == 1 ? "" : "s", p.gpus, p.gpus == 1 ? "" : "s"));
    out += value_row("  Requests, failed", fmt::format("{}, {}", p.completed + p.failed, p.failed));
    out += percent_row("  Busy", p.utilisation);
    out += percent_row("  KV peak, of the cache", p.kv_peak_share);
    out += value_row("  Mean running / waiting",
                     fmt::format("{:.1f} / {:.1f}", p.mean_running, p.mean_waiting));
    out += value_row("  Mean replicas paid for", fmt::format("{:.2f}", p.mean_replicas));
    out += value_row("  GPU-hours", fmt::format("{:.3f}", p.gpu_hours));
    if (p.usd) out += value_row("  US dollars", fmt::format("{:.2f}", *p.usd));
  }
  if (info.replica_failures > 0) {
    out += value_row("Failures of replicas", fmt::format("{}", info.replica_failures));
    out += value_row("Requests sent again", fmt::format("{}", info.retries));
  }
  return out;
}

// "kv_cache_bytes" reads "KV cache".
std::string memory_label(std::string key) {
  key.resize(key.size() - std::string_view("_bytes").size());
  std::replace(key.begin(), key.end(), '_', ' ');
  if (key.starts_with("kv ")) key.replace(0, 2, "KV");
  if (key.starts_with("cuda ")) key.replace(0, 4, "CUDA");
  if (key[0] >= 'a' && key[0] <= 'z') key[0] = static_cast<char>(key[0] - 'a' + 'A');
  return key;
}

std::string memory_section(const RunInfo& info) {
  if (info.kv_budget_bytes.empty()) return {};
  std::string out = rule("Memory of one GPU");
  for (const auto& [key, bytes] : info.kv_budget_bytes) {
    if (!key.ends_with("_bytes")) continue;
    const double gib = static_cast<double>(bytes) / (1 << 30);
    out += value_row(memory_label(key), gib >= 0.01 ? fmt::format("{:.2f} GiB", gib)
                                                    : fmt::format("{:.0f} KiB", gib * (1 << 20)));
  }
  return out;
}

std::string gpu_section(const UtilisationSummary& e) {
  std::string out = rule("GPU time");
  for (std::size_t i = 0; i < kOpClasses; ++i) {
    if (e.class_share[i] > 0) out += percent_row(kClassTitles[i], e.class_share[i]);
  }
  out += percent_row("Host time, of step time", ratio(e.host_s, e.host_s + e.gpu_s));
  out += rule("Where GPU times came from");
  for (std::size_t i = 0; i < kCoverageKinds; ++i) {
    std::string title(kCoverageTags[i]);
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    out += percent_row(title, e.coverage_share[i]);
  }
  return out;
}

std::string slo_section(const RunSummary& s) {
  if (!s.slo.any() && !s.slo_attainment) return {};
  std::string out = rule("Service level objectives");
  const bool common = std::all_of(s.classes.begin(), s.classes.end(),
                                  [&](const ClassSummary& c) { return c.limits == s.slo; });
  const auto limit = [&](std::string_view name, const auto& ms, const auto& share) {
    if (!share && !ms) return;
    const std::string label = common && ms ? fmt::format("{} <= {:g} ms", name, *ms)
                                           : fmt::format("{} within its class's limit", name);
    out += percent_row(label, share.value_or(0));
  };
  limit("TTFT", s.slo.ttft_ms, s.ttft_attainment);
  limit("TPOT", s.slo.tpot_ms, s.tpot_attainment);
  limit("E2EL", s.slo.e2el_ms, s.e2el_attainment);
  out += percent_row("SLO attainment", s.slo_attainment.value_or(0));
  return out;
}

// A table as wide as it needs to be.
std::string classes_section(const RunSummary& s) {
  if (s.classes.empty()) return {};
  TextTable rows = {{"class", "requests", "met", "goodput/s", "mean TTFT", "p99 TTFT", "p99 TPOT"}};
  const auto ms = [](double value) { return fmt::format("{:.1f}", value); };
  for (const ClassSummary& c : s.classes) {
    rows.push_back({c.name, fmt::format("{}", c.requests),
                    c.slo_attainment ? fmt::format("{:.1f} %", 100 * *c.slo_attainment) : "-",
                    c.request_goodput ? fmt::format("{:.2f}", *c.request_goodput) : "-",
                    ms(c.mean_ttft_ms), ms(c.p99_ttft_ms), ms(c.p99_tpot_ms)});
  }
  return rule("Classes of requests (ms)") + aligned(rows);
}

std::string storm_sentence(const RunSummary& s) {
  const Verdict& v = s.verdict;
  std::string out = fmt::format(" Preemption storm: {} preemptions, {:.2f} a request",
                                s.engine.preemptions, v.preemptions_per_request);
  if (s.engine.recomputed_tokens > 0) {
    out +=
        fmt::format(", {:.0f} % of all computed tokens computed again", 100 * v.recomputed_share);
  }
  if (v.preemption_share > 0) {
    out += fmt::format(", {:.0f} % of latency lost to it", 100 * v.preemption_share);
  }
  out +=
      fmt::format("; {} KV blocks a replica (peak {:.0f} %) are too few for the requests admitted.",
                  s.engine.kv_blocks_total, 100 * s.engine.kv_peak_share);
  return out;
}

}  // namespace

std::string serving_block(const RunSummary& s, const RunInfo& info) {
  VllmBlock block;
  block.rule(" Serving Benchmark Result ", '=');
  block.row("Successful requests:", s.completed);
  block.row("Failed requests:", s.failed);
  if (info.max_concurrency > 0) block.row("Maximum request concurrency:", info.max_concurrency);
  if (info.request_rate && !std::isinf(*info.request_rate)) {
    block.row("Request rate configured (RPS):", *info.request_rate);
  }
  block.row("Benchmark duration (s):", s.duration_s);
  block.row("Total input tokens:", s.input_tokens);
  block.row("Total generated tokens:", s.output_tokens);
  block.row("Request throughput (req/s):", s.request_throughput);
  if (s.request_goodput) block.row("Request goodput (req/s):", *s.request_goodput);
  block.row("Output token throughput (tok/s):", s.output_throughput);
  block.row("Peak output token throughput (tok/s):",
            static_cast<double>(s.max_output_tokens_per_s));
  block.row("Peak concurrent requests:", static_cast<double>(s.max_concurrent_requests));
  block.row("Total token throughput (tok/s):", s.total_token_throughput);
  block.latency("Time to First Token", "TTFT", s.ttft_ms);
  block.latency("Time per Output Token (excl. 1st token)", "TPOT", s.tpot_ms);
  block.latency("Inter-token Latency", "ITL", s.itl_ms);
  block.latency("End-to-end Latency", "E2EL", s.e2el_ms);
  block.rule("", '=');
  return block.text();
}

std::string headway_block(const RunSummary& s, const RunInfo& info) {
  return latency_section(s) + engine_section(s, info) + pools_section(info) +
         memory_section(info) + gpu_section(s.engine) + slo_section(s) +
         classes_section(s) + fmt::format("{:=^{}}\n", "", kBlockWidth) + verdict_line(s) + "\n";
}

std::string verdict_line(const RunSummary& s) {
  const Verdict& v = s.verdict;
  std::string out = fmt::format("Verdict: {}", load_name(v.load));
  // Adding zero keeps "-0.000" out.
  const std::string slope = fmt::format("{:+.3f} req/s over {:.0f} s",
                                        std::round(v.slope_per_s * 1e3) / 1e3 + 0.0, v.window_s);
  const std::string queueing =
      fmt::format("{:.0f} % of latency is queueing", 100 * v.queueing_share);
  if (v.load == Load::kOverloaded) {
    out +=
        fmt::format(": the backlog grows by {}, {:.0f} % of arrivals; latencies would keep rising.",
                    slope, 100 * v.growth_share);
  } else if (v.load == Load::kBacklogged && v.growth_share > 0) {
    out += fmt::format(": the backlog grows by {}, {:.1f} % of arrivals; {}.", slope,
                       100 * v.growth_share, queueing);
  } else if (!v.trend_known) {
    out += fmt::format(": too few arrivals over too short a time for a trend; {}.", queueing);
  } else {
    out += fmt::format(": the backlog shows no lasting growth ({}); {}.", slope, queueing);
  }
  if (v.preemption_storm) out += storm_sentence(s);
  return out;
}

}  // namespace headway
