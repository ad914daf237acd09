#include "sim/report/life_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/core/number_text.h"
#include "sim/report/cause_names.h"
#include "sim/report/names.h"

namespace headway {
namespace {

constexpr std::size_t kNamed = 3;  // others that are named; the rest are counted

std::string span_text(SimTime t) { return t == SimTime() ? "0" : time_text(t.seconds()); }

std::string counted(std::int64_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

SimTime part_of(const LatencySplit& split, LatencyPart part) {
  return split[static_cast<std::size_t>(part)];
}

using Named = std::vector<std::pair<std::uint64_t, SimTime>>;

Named longest_first(Named others) {
  std::stable_sort(others.begin(), others.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return others;
}

// "#12 1.20 s, #15 300 ms, 4 others 50.0 ms".
std::string names(const Named& unsorted) {
  const Named others = longest_first(unsorted);
  std::string out;
  SimTime rest;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (i >= kNamed && others.size() > kNamed + 1) {
      rest += others[i].second;
      continue;
    }
    out += fmt::format("{}#{} {}", i == 0 ? "" : ", ", others[i].first, span_text(others[i].second));
  }
  if (rest > SimTime()) {
    out += fmt::format(", {} others {}", others.size() - kNamed, span_text(rest));
  }
  return out;
}

std::string line_text(const LifePiece& piece) {
  std::vector<std::pair<SimTime, std::string_view>> causes;
  for (std::size_t i = 0; i < kHeldBackCauses; ++i) {
    if (piece.by_cause[i] > SimTime()) causes.emplace_back(piece.by_cause[i], kCauseTexts[i]);
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out = piece.lost ? "in line again: " : "in line: ";
  for (std::size_t i = 0; i < causes.size(); ++i) {
    if (i > 0) out += "; ";
    out += causes[i].second;
    if (causes.size() > 1) out += " " + span_text(causes[i].first);
  }
  if (piece.derived) out += " (derived from the step's facts)";
  return out;
}

std::string what(const LifePiece& piece) {
  switch (piece.phase) {
    case LifePhase::kFrontEnd:
      return part_of(piece.split, LatencyPart::kQueue) > SimTime()
                 ? "at the gateway, and the host's front end"
                 : "the host's front end, before it joins the queue";
    case LifePhase::kMoving:
      return part_of(piece.split, LatencyPart::kRetry) > SimTime()
                 ? "lost with a replica that failed"
                 : "between two replicas: its KV waits and is sent";
    case LifePhase::kInLine: return line_text(piece);
    case LifePhase::kPassedOver:
      return fmt::format("admitted; {} planned before without it", counted(piece.steps, "step"));
    case LifePhase::kPrefill:
      return fmt::format("{}: {} in {}", piece.lost ? "computing again" : "its prompt",
                         counted(piece.tokens, "token"), counted(piece.steps, "step"));
    case LifePhase::kDecode:
      return fmt::format("{}: {} in {}", piece.lost ? "back at its answer" : "its answer",
                         counted(piece.tokens, "token"), counted(piece.steps, "step"));
    case LifePhase::kOthers: return "the request's other sequences, against this one";
  }
  return "";
}

// What a piece has to say beside: lines below it.
std::vector<std::string> remarks(const LifePiece& piece) {
  std::vector<std::string> out;
  if (piece.phase == LifePhase::kInLine) {
    if (!piece.others.empty()) out.push_back("head of line: behind " + names(piece.others));
    if (!piece.others.empty() && piece.first > SimTime()) {
      out.push_back("first in line for " + span_text(piece.first));
    }
    return out;
  }
  if (piece.steps_without > 0 && piece.phase != LifePhase::kPassedOver) {
    out.push_back(counted(piece.steps_without, "step") + " of them ran without it");
  }
  if (piece.lost) return out;
  const SimTime interference = part_of(piece.split, LatencyPart::kInterference);
  const SimTime host = part_of(piece.split, LatencyPart::kHost);
  if (interference > SimTime()) {
    std::string line = "held up by other requests' prompts for " + span_text(interference);
    if (piece.others.empty()) {
      line = "held up by other requests' steps for " + span_text(interference);
    }
    out.push_back(line + (piece.others.empty() ? "" : ": " + names(piece.others)));
  }
  if (host > SimTime() && piece.phase != LifePhase::kFrontEnd) {
    out.push_back("host time " + span_text(host));
  }
  return out;
}

std::string life_row(const std::string& at, const std::string& span, const std::string& share,
                const std::string& text) {
  return fmt::format("{:>10}{:>11}{:>8}  {}\n", at, span, share, text);
}

std::string preemption_text(const LifePreemption& p, std::uint64_t id) {
  std::string out = "preempted";
  if (p.for_request == static_cast<std::int64_t>(id)) {
    out += ": it needed KV, and nobody else could yield";
  } else if (p.for_request >= 0) {
    out += fmt::format(" for #{}, which needed KV", p.for_request);
  } else {
    out += ": KV ran short";
  }
  return out + "; what it had computed is lost";
}

std::string life_heading(const RequestRecord& r) {
  std::string out = fmt::format("Request {}: {} prompt + {} output tokens", r.id, r.prompt_tokens,
                                r.output_tokens);
  if (r.cached_tokens > 0) out += fmt::format(", {} of the prompt cached", r.cached_tokens);
  out += r.replica == kNoReplica ? "; no replica" : fmt::format("; replica {}", r.replica);
  out += fmt::format("; arrived at {:.3f} s\n", r.arrival.seconds());
  if (r.held > SimTime()) {
    out += fmt::format("Held back for {} before that, by the limit on concurrency\n",
                       span_text(r.held));
  }
  if (r.failed) return out + "Failed: " + r.finish_reason + "\n";
  const SimTime ttft = r.first_token - r.arrival, e2el = r.finish - r.arrival;
  out += fmt::format("TTFT {}, E2EL {}", span_text(ttft), span_text(e2el));
  if (r.output_tokens > r.answers) {
    out += fmt::format(", longest gap between tokens {}", span_text(r.max_itl));
  }
  return out + fmt::format(", {}\n", counted(r.preemptions, "preemption"));
}

double share_of(SimTime part, SimTime whole) {
  return whole > SimTime() ? part.seconds() / whole.seconds() : 0.0;
}

std::string share_text(SimTime part, SimTime whole) {
  return fmt::format("{:.1f} %", 100 * share_of(part, whole));
}

std::string pieces_text(const RequestLife& life) {
  const RequestRecord& r = life.record;
  const SimTime e2el = r.finish - r.arrival;
  std::string out = life_row("after", "for", "share", "what");
  std::size_t preemption = 0;
  for (const LifePiece& piece : life.pieces) {
    while (preemption < life.preemptions.size() &&
           life.preemptions[preemption].at <= piece.from) {
      const LifePreemption& p = life.preemptions[preemption++];
      out += life_row(span_text(p.at - r.arrival), "", "", preemption_text(p, r.id));
    }
    const SimTime span = piece.to - piece.from;
    out += life_row(span_text(piece.from - r.arrival), span_text(span), share_text(span, e2el),
                    what(piece));
    for (const std::string& remark : remarks(piece)) out += life_row("", "", "", "  " + remark);
  }
  return out + life_row(span_text(e2el), "", "", r.failed ? "it fails" : "its last token");
}

std::string parts_text(const RequestRecord& r) {
  const SimTime e2el = r.finish - r.arrival;
  std::string out;
  SimTime sum;
  for (std::size_t i = 0; i < kLatencyParts; ++i) {
    if (i >= kUsualParts && r.split[i] == SimTime()) continue;
    out += fmt::format("{:<20}{:>14.3f} ms{:>8.1f} %\n", kPartTitles[i], r.split[i].ms(),
                       100 * share_of(r.split[i], e2el));
    sum += r.split[i];
  }
  return out + fmt::format("{:<20}{:>14.3f} ms\n", "Sum = E2EL", sum.ms());
}

}  // namespace

std::string life_text(const RequestLife& life) {
  return life_heading(life.record) + "\n" + pieces_text(life) + "\n" + parts_text(life.record);
}

}  // namespace headway
