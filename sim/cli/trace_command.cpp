#include "sim/cli/trace_command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/core/errors.h"
#include "sim/workload/request_source.h"
#include "sim/workload/trace_summary.h"
#include "sim/workload/trace_writer.h"

namespace headway {
namespace {

nlohmann::ordered_json length_json(const LengthSummary& s) {
  return {{"mean", s.mean}, {"min", s.min}, {"p50", s.p50},    {"p90", s.p90},
          {"p99", s.p99},   {"max", s.max}, {"total", s.total}};
}

std::string as_json(const std::string& trace, const TraceSummary& s,
                    const std::vector<std::string>& notes) {
  nlohmann::ordered_json json = {{"trace", trace},
                                 {"requests", s.requests},
                                 {"span_s", s.span_s},
                                 {"request_rate", s.rate},
                                 {"gap_cv", s.gap_cv},
                                 {"input_tokens", length_json(s.input)},
                                 {"output_tokens", length_json(s.output)}};
  if (s.sessions > 0) json["sessions"] = s.sessions;
  if (s.prefix_hit_tokens >= 0) {
    json["ideal_prefix_hit_share"] = {{"blocks", s.prefix_hit_blocks},
                                      {"tokens", s.prefix_hit_tokens}};
  }
  json["notes"] = notes;
  return json.dump(2) + "\n";
}

std::string as_text(const std::string& trace, const TraceSummary& s,
                    const std::vector<std::string>& notes) {
  std::string text = fmt::format("{}\n", trace);
  text += fmt::format("  requests        {}\n", s.requests);
  text += fmt::format("  span            {:.3f} s\n", s.span_s);
  text += fmt::format(
      "  arrival rate    {:.4g} requests/s, gaps with a variation of {:.2f}"
      " (1 = Poisson)\n",
      s.rate, s.gap_cv);
  if (s.sessions > 0) text += fmt::format("  sessions        {}\n", s.sessions);
  text += fmt::format("  {:<15} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>12}\n", "tokens", "mean",
                      "min", "p50", "p90", "p99", "max", "total");
  const auto row = [&text](const char* name, const LengthSummary& l) {
    text += fmt::format("  {:<15} {:>10.1f} {:>8} {:>8.0f} {:>8.0f} {:>8.0f} {:>8} {:>12}\n", name,
                        l.mean, l.min, l.p50, l.p90, l.p99, l.max, l.total);
  };
  row("input", s.input);
  row("output", s.output);
  if (s.prefix_hit_tokens >= 0) {
    text += fmt::format(
        "  prefix reuse    {:.1f} % of prompt tokens, {:.1f} % of blocks"
        " (a cache that never forgets)\n",
        100 * s.prefix_hit_tokens, 100 * s.prefix_hit_blocks);
  }
  for (const std::string& note : notes) text += "  note: " + note + "\n";
  return text;
}

}  // namespace

int trace_inspect(const WorkloadOptions& options, bool json, std::FILE* out) {
  std::vector<std::string> notes;
  const auto source = open_workload(options, "", 0, notes);
  const TraceSummary summary = summarise(*source);
  const std::string text =
      json ? as_json(options.trace, summary, notes) : as_text(options.trace, summary, notes);
  errno = 0;
  const bool whole = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (!whole || std::fflush(out) != 0) {
    const std::string why = std::strerror(errno);
    throw InputError({"standard output", "", "an output that cannot be written (" + why + ")",
                      "a writable place with room for it"});
  }
  return 0;
}

int trace_convert(const WorkloadOptions& options, const std::string& path, const std::string& to,
                  std::FILE* talk) {
  std::vector<std::string> notes;
  const std::int64_t rows = convert_trace(options, "", path, to, notes);
  if (talk == nullptr) return 0;
  for (const std::string& note : notes) fmt::print(talk, "note: {}\n", note);
  fmt::print(talk, "{}: {} requests\n", path, rows);
  return 0;
}

int trace_synth(const WorkloadOptions& options, std::uint64_t seed, const std::string& path,
                const std::string& to, std::FILE* talk) {
  const std::int64_t rows = write_synth(options, seed, path, to);
  if (talk != nullptr) {
    fmt::print(talk, "{}: {} requests over {:g} days, a model of a week (Friday to Thursday)\n",
               path, rows, options.days / options.rate_scale);
  }
  return 0;
}

}  // namespace headway
