#include <nlohmann/json.hpp>

#include "sim/report/cause_names.h"
#include "sim/report/life_text.h"
#include "sim/report/names.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 7> kPhaseTags = {
    "front_end", "in_line", "passed_over", "prefill", "decode", "moving", "other_sequences"};

Json parts_json(const LatencySplit& split) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kLatencyParts; ++i) {
    if (i >= kUsualParts && split[i] == SimTime()) continue;
    out[std::string(kPartTags[i])] = split[i].ms();
  }
  return out;
}

Json piece_json(const LifePiece& piece, SimTime arrival) {
  Json out = {{"phase", kPhaseTags[static_cast<std::size_t>(piece.phase)]},
              {"lost", piece.lost},
              {"after_ms", (piece.from - arrival).ms()},
              {"ms", (piece.to - piece.from).ms()},
              {"parts_ms", parts_json(piece.split)},
              {"steps", piece.steps},
              {"steps_without", piece.steps_without},
              {"tokens", piece.tokens}};
  if (piece.phase == LifePhase::kInLine) {
    Json causes = Json::object();
    for (std::size_t i = 0; i < kHeldBackCauses; ++i) {
      if (piece.by_cause[i] > SimTime()) {
        causes[std::string(kCauseTags[i])] = piece.by_cause[i].ms();
      }
    }
    out["held_back_by_ms"] = std::move(causes);
    out["derived"] = piece.derived;
    out["first_in_line_ms"] = piece.first.ms();
  }
  Json others = Json::array();
  for (const auto& [request, time] : piece.others) {
    others.push_back({{"request", request}, {"ms", time.ms()}});
  }
  out[piece.phase == LifePhase::kInLine ? "behind" : "held_up_by"] = std::move(others);
  return out;
}

}  // namespace

Json life_json(const RequestLife& life) {
  const RequestRecord& r = life.record;
  Json out = {{"request", r.id},
              {"replica", r.replica == kNoReplica ? Json() : Json(r.replica)},
              {"arrival_s", r.arrival.seconds()},
              {"held_ms", r.held.ms()},
              {"input_tokens", r.prompt_tokens},
              {"output_tokens", r.output_tokens},
              {"cached_tokens", r.cached_tokens},
              {"failed", r.failed},
              {"finish_reason", r.finish_reason},
              {"ttft_ms", r.failed ? Json() : Json((r.first_token - r.arrival).ms())},
              {"e2el_ms", (r.finish - r.arrival).ms()},
              {"max_itl_ms", r.max_itl.ms()},
              {"parts_ms", parts_json(r.split)}};
  out["pieces"] = Json::array();
  for (const LifePiece& piece : life.pieces) out["pieces"].push_back(piece_json(piece, r.arrival));
  out["preemptions"] = Json::array();
  for (const LifePreemption& p : life.preemptions) {
    out["preemptions"].push_back({{"after_ms", (p.at - r.arrival).ms()},
                                  {"for_request", p.for_request < 0 ? Json() : Json(p.for_request)},
                                  {"prefilled_tokens", p.prefilled_tokens}});
  }
  return out;
}

}  // namespace headway
