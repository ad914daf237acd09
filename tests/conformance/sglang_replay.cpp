// Recordings of SGLang's scheduler ("llmsim-golden-sglang/1", described in recordings/README.md),
// replayed through Sglang and TokenPool, one turn of the engine's loop a step. With overlap the
// results of a step are known one turn later.
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/core/errors.h"
#include "sim/scheduling/sglang.h"
#include "tests/conformance/recorded_request.h"
#include "tests/conformance/replay.h"

namespace headway::conformance {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 2> kMaps = {"emitted", "output_lens"};

SchedulerConfig read_config(const json& recording, bool gather) {
  const json& c = recording.at("config");
  for (const char* unknown : {"enable_priority_scheduling"}) {
    if (c.value(unknown, false)) throw InputError(std::string("no replay for ") + unknown);
  }
  if (c.value("radix_eviction_policy", "lru") != "lru") {
    throw InputError("no replay for radix_eviction_policy " + c["radix_eviction_policy"].dump());
  }
  SchedulerConfig config;
  EngineOptions& engine = config.engine;
  engine.scheduler = "sglang";
  engine.block_size = 1;
  config.num_blocks = c.at("max_total_num_tokens");
  engine.max_num_seqs = c.at("max_running_requests");
  engine.max_prefill_tokens = c.at("max_prefill_tokens");
  const json& chunk = c.at("chunked_prefill_size");
  engine.chunked_prefill_size = chunk.is_null() ? -1 : chunk.get<std::int32_t>();
  engine.page_size = c.at("page_size");
  engine.policy = c.at("schedule_policy");
  engine.enable_mixed_chunk = c.at("enable_mixed_chunk");
  engine.enable_prefix_caching = !c.at("disable_radix_cache").get<bool>();
  engine.schedule_conservativeness = c.at("schedule_conservativeness");
  engine.async_scheduling = c.at("enable_overlap");
  engine.max_model_len = c.at("context_len");
  engine.ignore_eos = c.value("ignore_eos", true);
  const json ratio = c.value("init_new_token_ratio", json());
  if (!ratio.is_null()) engine.init_new_token_ratio = ratio;
  engine.retract_decode_steps = c.value("retract_decode_steps", engine.retract_decode_steps);
  config.gather_decodes = gather;
  return config;
}

class Replay {
 public:
  Replay(const json& recording, bool gather)
      : recording_(recording),
        config_(read_config(recording, gather)),
        scheduler_(config_),
        depth_(config_.engine.async_scheduling ? 2 : 1) {
    for (const json& r : recording.at("requests")) add_request(r);
  }

  std::optional<Disagreement> run() {
    std::int64_t next = 0;
    for (const json& step : recording_.at("steps")) {
      const std::int64_t number = step.at("step");
      // The loop goes round in a step that has no record, too; nothing happens in it.
      for (; next < number; ++next) {
        const json got = run_step(next, {});
        if (!got["mode"].is_null()) return Disagreement{next, "mode", "null", got["mode"].dump()};
      }
      for (const json& id : step.value("arrivals", json::array())) arrive(id);
      json got = run_step(number, step.value("aborted", json::array()));
      for (const char* input : {"arrivals", "aborted"}) {
        if (step.contains(input)) got[input] = step[input];
      }
      if (auto found = compare_record(number, step, got, kMaps)) return found;
      next = number + 1;
    }
    return std::nullopt;
  }

 private:
  struct Step {
    StepPlan plan;
    std::vector<ScheduledSequence> entries;  // of the plan, gathered decodes written out
  };
  struct Recorded {
    std::string id;
    Request request;
    Sequence sequence;
  };

  void add_request(const json& r) {
    auto recorded = std::make_unique<Recorded>();
    Request& request = recorded->request;
    recorded->id = r.at("id");
    request = read_token_request(r, requests_.size());
    recorded->sequence =
        make_sequence(request, static_cast<std::uint32_t>(request.id), 0, SimTime());
    requests_.emplace(recorded->id, std::move(recorded));
  }

  Recorded& named(const std::string& id) {
    const auto found = requests_.find(id);
    if (found == requests_.end()) throw InputError("no request named " + id);
    return *found->second;
  }

  const std::string& name(const Sequence* sequence) const {
    return arrived_.at(sequence->order)->id;
  }

  void arrive(const std::string& id) {
    Recorded& recorded = named(id);
    recorded.sequence.order = arrived_.size();
    recorded.sequence.arrival =
        SimTime::from_ns(static_cast<std::int64_t>(recorded.sequence.order));
    arrived_.push_back(&recorded);
    scheduler_.add(recorded.sequence);
  }

  json run_step(std::int64_t step, const json& aborted) {
    for (const json& id : aborted) scheduler_.abort(named(id).sequence);
    json got = {{"step", step}};
    const bool pending = !in_flight_.empty();
    const bool scheduled = schedule(got);
    if (in_flight_.size() == depth_ || (pending && !scheduled)) {
      update(got);
    } else {
      got["emitted"] = json::object();
      got["finished"] = json::array();
    }
    got["after_update"] = after_update();
    return got;
  }

  bool schedule(json& got) {
    Step step;
    StepPlan& plan = step.plan;
    got["new_token_ratio_before"] = ratio();
    scheduler_.turn(plan);
    scheduler_.write_out(plan, step.entries);
    scheduler_.check_kv();
    got["new_token_ratio_after"] = ratio();
    bool prefill = false;
    bool decode = false;
    got["scheduled"] = json::array();
    for (const ScheduledSequence& entry : step.entries) {
      (entry.prefill ? prefill : decode) = true;
      got["scheduled"].push_back({{"id", name(entry.sequence)},
                                  {"kind", entry.prefill ? "extend" : "decode"},
                                  {"prefix_len", entry.computed_before},
                                  {"num_tokens", entry.num_tokens},
                                  {"samples", entry.samples}});
    }
    got["mode"] = prefill ? json(decode ? "MIXED" : "EXTEND") : decode ? json("DECODE") : json();
    got["total_tokens"] = plan.total_tokens;
    got["retracted_in_order"] = json::array();
    for (const Sequence* s : plan.preempted) got["retracted_in_order"].push_back(name(s));
    const Sequence* cut = scheduler_.cut_sequence();
    got["chunked_req"] = cut == nullptr ? json() : json(name(cut));
    got["batch_is_full"] = scheduler_.running_batch().full;
    json after = pool_state();
    after["running_batch"] = json::array();
    for (const SglangBatch::Member& m : scheduler_.running_batch().members) {
      after["running_batch"].push_back(arrived_.at(m.order)->id);
    }
    got["after_schedule"] = std::move(after);
    if (plan.empty()) return false;
    in_flight_.push_back(std::move(step));
    return true;
  }

  void update(json& got) {
    const Step step = std::move(in_flight_.front());
    in_flight_.pop_front();
    got["emitted"] = json::object();
    got["finished"] = json::array();
    // What is gathered and still there has a token each.
    std::vector<const Sequence*> together;
    for (const ScheduledSequence& entry : step.entries) {
      const Sequence* s = entry.sequence;
      const auto is_it = [&](const ScheduledSequence& other) { return other.sequence == s; };
      const auto& alone = step.plan.scheduled;
      const bool gathered = std::none_of(alone.begin(), alone.end(), is_it);
      if (gathered && !s->finished() && s->preemptions == entry.preemptions) together.push_back(s);
    }
    StepUpdate update;
    scheduler_.complete(step.plan, {}, update);
    scheduler_.settle();
    scheduler_.check_kv();
    for (const Sequence* s : together) got["emitted"][name(s)] = 1;
    std::int64_t tokens = update.gathered_tokens;
    for (const auto& emission : update.emitted) {
      got["emitted"][name(emission.sequence)] = emission.tokens;
      tokens += emission.tokens;
    }
    SIM_CHECK(tokens == static_cast<std::int64_t>(got["emitted"].size()));
    for (const Sequence* s : update.finished) got["finished"].push_back(name(s));
  }

  double ratio() const { return std::round(scheduler_.new_token_ratio() * 1e9) / 1e9; }

  json pool_state() const {
    json waiting = json::array();
    for (const Sequence* s : scheduler_.waiting_queue()) waiting.push_back(name(s));
    return {{"waiting", std::move(waiting)},
            {"available", scheduler_.pool().available_tokens()},
            {"evictable", scheduler_.pool().evictable_tokens()},
            {"protected", scheduler_.pool().protected_tokens()}};
  }

  json after_update() const {
    json state = pool_state();
    state["output_lens"] = json::object();
    for (const Recorded* r : arrived_) state["output_lens"][r->id] = r->sequence.output_tokens;
    return state;
  }

  const json& recording_;
  SchedulerConfig config_;
  Sglang scheduler_;
  std::size_t depth_;
  std::map<std::string, std::unique_ptr<Recorded>> requests_;
  std::vector<const Recorded*> arrived_;  // by Sequence::order
  std::deque<Step> in_flight_;
};

}  // namespace

std::optional<Disagreement> replay_sglang(const json& recording, const std::filesystem::path&) {
  // Once with an entry for every sequence, once with the decodes gathered, as a run plans them.
  if (auto found = Replay(recording, false).run()) return found;
  return Replay(recording, true).run();
}

}  // namespace headway::conformance
