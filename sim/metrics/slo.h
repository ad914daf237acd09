#pragma once

#include <cstdint>
#include <optional>

#include "sim/metrics/observer.h"

namespace headway {

// Latency limits in milliseconds; unset = no limit. A value equal to its limit meets it.
struct SloLimits {
  std::optional<double> ttft_ms, tpot_ms, e2el_ms;
  bool any() const { return ttft_ms || tpot_ms || e2el_ms; }
  bool operator==(const SloLimits&) const = default;
};

inline SimTime ttft_of(const RequestRecord& r) { return r.first_token - r.arrival; }
inline SimTime e2el_of(const RequestRecord& r) { return r.finish - r.arrival; }

// (E2EL - TTFT) / (output tokens - 1) in milliseconds; undefined for a single token. Of parallel
// samples, the tokens of one answer count: they are written side by side.
inline std::optional<double> tpot_ms_of(const RequestRecord& r) {
  const std::int32_t tokens = r.output_tokens / r.answers;
  if (tokens < 2) return std::nullopt;
  return (r.finish - r.first_token).ms() / (tokens - 1);
}

// Which limits a request meets, by the rules of vLLM's serving benchmark: every given limit, `<=`,
// an undefined TPOT counted as 0. A failed request meets none.
struct SloOutcome {
  bool ttft = true, tpot = true, e2el = true;
  bool all() const { return ttft && tpot && e2el; }
};

inline SloOutcome judge_slo(const SloLimits& limits, const RequestRecord& r) {
  if (r.failed) return {false, false, false};
  return {!limits.ttft_ms || ttft_of(r).ms() <= *limits.ttft_ms,
          !limits.tpot_ms || tpot_ms_of(r).value_or(0.0) <= *limits.tpot_ms,
          !limits.e2el_ms || e2el_of(r).ms() <= *limits.e2el_ms};
}

}  // namespace headway
