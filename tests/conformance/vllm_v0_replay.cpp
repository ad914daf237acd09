// Recordings of vLLM V0's scheduler: schema "llmsim-golden-vllm-v0/1". Every field is compared,
// block tables and swap pairs with their ids included.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/core/errors.h"
#include "sim/scheduling/vllm_v0.h"
#include "tests/conformance/recorded_request.h"
#include "tests/conformance/replay.h"

namespace headway::conformance {
namespace {

using nlohmann::json;

SchedulerConfig read_config(const json& recorded, bool gather) {
  SchedulerConfig config;
  EngineOptions& engine = config.engine;
  engine.scheduler = "vllm-v0";
  engine.max_num_seqs = recorded.at("max_num_seqs");
  engine.max_num_batched_tokens = recorded.at("max_num_batched_tokens");
  engine.max_model_len = recorded.at("max_model_len");
  engine.block_size = recorded.at("block_size");
  engine.enable_prefix_caching = recorded.at("enable_prefix_caching");
  engine.enable_chunked_prefill = recorded.at("enable_chunked_prefill");
  engine.policy = recorded.value("policy", "fcfs");
  const json mode = recorded.value("preemption_mode", json());
  engine.preemption_mode = mode.is_null() ? "recompute" : mode.get<std::string>();
  engine.delay_factor = recorded.value("delay_factor", 0.0);
  engine.max_num_partial_prefills = recorded.value("max_num_partial_prefills", 1);
  engine.max_long_partial_prefills = recorded.value("max_long_partial_prefills", 1);
  engine.long_prefill_token_threshold = recorded.value("long_prefill_token_threshold", 0);
  config.num_blocks = recorded.at("num_gpu_blocks");
  config.num_cpu_blocks = recorded.value("num_cpu_blocks", 0);
  if (recorded.value("num_lookahead_slots", 0) != 0)
    throw InputError("no replay of lookahead slots");
  config.gather_decodes = gather;
  return config;
}

class Replay {
 public:
  Replay(const json& recording, bool gather)
      : scheduler_(read_config(recording.at("config"), gather)),
        step_time_s_(recording.at("config").value("step_time", 1.0)) {
    for (const json& entry : recording.at("requests")) {
      const Request& request =
          requests_.emplace_back(read_token_request(entry, requests_.size()));
      names_.push_back(entry.at("id"));
      by_name_[names_.back()] = request.id;
    }
  }

  json step(const json& recorded) {
    const std::int64_t index = recorded.at("step");
    const double time_s = static_cast<double>(index) * step_time_s_;
    const SimTime now = SimTime::from_seconds(time_s);
    json got = {{"step", index}, {"time", time_s}, {"arrivals", json::array()}};
    for (const std::string name : recorded.value("aborts", json::array())) {
      for (Sequence& sequence : sequences_) {
        if (this->name(&sequence) == name) scheduler_.abort(sequence);
      }
      got["aborts"].push_back(name);
    }
    for (const std::string name : recorded.value("arrivals", json::array())) {
      arrive(requests_[by_name_.at(name)], now);
      got["arrivals"].push_back(name);
    }
    scheduler_.settle();
    for (const Sequence& sequence : sequences_) {
      computed_before_[name(&sequence)] = sequence.computed_tokens;
    }
    scheduler_.plan(now, plan_);
    scheduler_.write_out(plan_, entries_);
    scheduler_.settle();
    scheduler_.check_kv();
    describe_plan(got);
    got["after_schedule"] = state(true);
    update_.clear();
    if (!plan_.empty()) scheduler_.complete(plan_, {}, update_);
    scheduler_.settle();
    scheduler_.check_kv();
    describe_update(got);
    got["after_update"] = state(false);
    return got;
  }

 private:
  void arrive(const Request& request, SimTime now) {
    Sequence& sequence = sequences_.emplace_back(make_sequence(
        request, static_cast<std::uint32_t>(request.id), sequences_.size() + 1, now));
    scheduler_.add(sequence);
  }

  const std::string& name(const Sequence* sequence) const { return names_[sequence->request->id]; }

  template <typename Sequences>
  json names(const Sequences& sequences) const {
    json list = json::array();
    for (const auto* sequence : sequences) list.push_back(name(sequence));
    return list;
  }

  void describe_plan(json& got) {
    json scheduled = json::array();
    std::int32_t batched = 0;
    for (const ScheduledSequence& item : entries_) {
      const Sequence& s = *item.sequence;
      // vLLM V0 counts cached tokens as part of the chunk, and as computed only after the step.
      const std::int32_t before = computed_before_.at(name(&s));
      const std::int32_t chunk = s.computed_tokens - before;
      batched += chunk;
      scheduled.push_back(
          {{"id", name(&s)},
           {"kind", item.prefill ? "prefill" : "decode"},
           {"computed_before", before},
           {"token_chunk_size", chunk},
           {"num_cached_tokens",
            item.prefill ? scheduler_.kv().cached_tokens(s.slot, s.known_tokens()) : 0},
           {"samples", item.samples},
           {"block_table", scheduler_.kv().table(s.slot)}});
    }
    got["scheduled"] = std::move(scheduled);
    got["num_batched_tokens"] = batched;
    got["preempted_count"] = std::ssize(plan_.preempted) - scheduler_.forced_preemptions();
    got["swap_in"] = scheduler_.swapped_in();
    got["swap_out"] = scheduler_.swapped_out();
    got["ignored"] = json::array();
    for (const Rejection& rejection : plan_.rejected) {
      got["ignored"].push_back(name(rejection.sequence));
    }
  }

  void describe_update(json& got) const {
    got["emitted"] = json::object();
    for (const auto& emission : update_.emitted) {
      got["emitted"][name(emission.sequence)] = emission.tokens;
    }
    std::int64_t together = 0;
    for (const ScheduledSequence& item : entries_) {
      const auto is_it = [&](const ScheduledSequence& other) {
        return other.sequence == item.sequence;
      };
      const auto& alone = plan_.scheduled;
      if (std::any_of(alone.begin(), alone.end(), is_it)) continue;
      got["emitted"][name(item.sequence)] = 1;
      ++together;
    }
    SIM_CHECK(together == update_.gathered_tokens);
    got["finished"] = names(update_.finished);
    for (const Rejection& rejection : plan_.rejected) {  // the recorder lists the ignored as well
      got["finished"].push_back(name(rejection.sequence));
    }
  }

  json state(bool before_step) {
    json computed = json::object();
    json tables = json::object();
    for (const Sequence& s : sequences_) {
      if (s.finished()) continue;
      computed[name(&s)] = s.computed_tokens;
      if (scheduler_.kv().has_table(s.slot)) tables[name(&s)] = scheduler_.kv().table(s.slot);
    }
    if (before_step) {
      for (const ScheduledSequence& item : entries_) {
        computed[name(item.sequence)] = computed_before_.at(name(item.sequence));
      }
    }
    return {{"running", names(scheduler_.running_queue())},
            {"waiting", names(scheduler_.waiting_queue())},
            {"swapped", names(scheduler_.swapped_queue())},
            {"num_free_gpu_blocks", scheduler_.kv().free_gpu_blocks()},
            {"num_free_cpu_blocks", scheduler_.kv().free_cpu_blocks()},
            {"computed", std::move(computed)},
            {"block_tables", std::move(tables)}};
  }

  VllmV0 scheduler_;
  double step_time_s_;
  std::deque<Request> requests_;
  std::deque<Sequence> sequences_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint64_t> by_name_;
  std::map<std::string, std::int32_t> computed_before_;  // of the last plan
  StepPlan plan_;
  std::vector<ScheduledSequence> entries_;  // of it, gathered decodes written out
  StepUpdate update_;
};

void sort_finished(json& step) {
  if (step.contains("finished")) std::sort(step["finished"].begin(), step["finished"].end());
}

std::optional<Disagreement> replay_way(const json& recording, bool gather) {
  static constexpr std::array<std::string_view, 3> kMaps = {"emitted", "computed", "block_tables"};
  Replay replay(recording, gather);
  for (json recorded : recording.at("steps")) {
    json got = replay.step(recorded);
    sort_finished(recorded);
    sort_finished(got);
    if (auto found = compare_record(recorded.at("step"), recorded, got, kMaps)) return found;
  }
  return std::nullopt;
}

}  // namespace

// Once with an entry for every sequence, once with the decodes gathered, as a run plans them.
std::optional<Disagreement> replay_vllm_v0(const json& recording, const std::filesystem::path&) {
  if (auto found = replay_way(recording, false)) return found;
  return replay_way(recording, true);
}

}  // namespace headway::conformance
