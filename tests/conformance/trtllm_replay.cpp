// Recordings of TensorRT-LLM's two-stage scheduler: schema "llmsim-golden-trtllm/1". Only amounts of
// blocks are recorded. Priorities are TensorRT-LLM's: larger is more urgent.
#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/errors.h"
#include "sim/scheduling/trtllm.h"
#include "tests/conformance/replay.h"

namespace headway::conformance {
namespace {

using nlohmann::json;

constexpr std::int32_t kUnlimited = 1 << 30;

// The value of a key that may be absent or null.
template <typename T>
T value_or(const json& object, const char* key, T otherwise) {
  return object.contains(key) && !object.at(key).is_null() ? object.at(key).get<T>() : otherwise;
}

CapacityPolicy capacity_policy(const std::string& name) {
  if (name == "GUARANTEED_NO_EVICT") return CapacityPolicy::kGuaranteedNoEvict;
  if (name == "MAX_UTILIZATION") return CapacityPolicy::kMaxUtilization;
  if (name == "STATIC_BATCH") return CapacityPolicy::kStaticBatch;
  throw InputError("no replay for policy " + name);
}

ContextChunking chunking_policy(const std::string& name) {
  if (name.empty()) return ContextChunking::kOff;
  if (name == "FIRST_COME_FIRST_SERVED") return ContextChunking::kFirstComeFirstServed;
  if (name == "EQUAL_PROGRESS") return ContextChunking::kEqualProgress;
  throw InputError("no replay for context chunking policy " + name);
}

TrtllmOptions read_options(const json& config, bool gather) {
  if (value_or(config, "block_reuse", false)) throw InputError("no replay with block reuse");
  TrtllmOptions options;
  options.policy = capacity_policy(config.at("policy"));
  options.chunking = chunking_policy(value_or<std::string>(config, "context_chunking_policy", ""));
  options.max_num_requests = config.at("max_num_requests");
  options.max_batch_size = value_or(config, "max_batch_size", options.max_num_requests);
  options.max_num_tokens = value_or(config, "max_num_tokens", kUnlimited);
  options.max_context_length = value_or(config, "max_context_length", kUnlimited);
  options.max_model_len = kUnlimited;
  options.num_blocks = config.at("num_blocks");
  options.tokens_per_block = config.at("tokens_per_block");
  options.chunk_unit_size = value_or(config, "chunk_unit_size", options.tokens_per_block);
  options.two_steps_look_ahead = value_or(config, "two_steps_look_ahead", false);
  options.gather_decodes = gather;
  return options;
}

class Replay {
 public:
  Replay(const json& recording, bool gather)
      : scheduler_(read_options(recording.at("config"), gather)) {
    std::set<double, std::greater<>> levels;  // of priority, most urgent first
    for (const json& entry : recording.at("requests")) levels.insert(priority(entry));
    for (const json& entry : recording.at("requests")) {
      const std::string name = entry.at("id");
      Request& request = requests_[name];
      request.id = names_.size();
      request.prompt_tokens = entry.at("prompt_len");
      request.output_tokens = request.max_tokens = entry.at("max_tokens");
      request.priority = static_cast<std::int32_t>(
          std::distance(levels.begin(), levels.find(priority(entry))));
      names_.push_back(name);
    }
  }

  json step(const json& recorded) {
    const std::int64_t index = recorded.at("step");
    json got = {{"step", index}, {"arrivals", json::array()}};
    for (const std::string name : recorded.value("arrivals", json::array())) {
      arrive(name, SimTime::from_seconds(static_cast<double>(index)));
      got["arrivals"].push_back(name);
    }
    scheduler_.settle();
    const json before = requests_state();
    scheduler_.plan(SimTime(), plan_);
    scheduler_.write_out(plan_, entries_);
    // Recorded of the fitting ones only, as they were before the step.
    got["request_state"] = json::object();
    for (const Sequence* s : scheduler_.fitting()) {
      got["request_state"][name(s)] = before.at(name(s));
    }
    scheduler_.check_kv();
    describe_plan(got);
    update_.clear();
    if (!plan_.empty()) scheduler_.complete(plan_, {}, update_);
    scheduler_.check_kv();
    // In batch order: a gathered sequence has a token, another one what the update says.
    json emitted = json::array();
    for (const ScheduledSequence& item : entries_) {
      const auto is_it = [&](const auto& other) { return other.sequence == item.sequence; };
      const auto& alone = plan_.scheduled;
      const auto& told = update_.emitted;
      if (std::none_of(alone.begin(), alone.end(), is_it) ||
          std::any_of(told.begin(), told.end(), is_it)) {
        emitted.push_back(name(item.sequence));
      }
    }
    SIM_CHECK(std::ssize(emitted) == std::ssize(update_.emitted) + update_.gathered_tokens);
    got["emitted"] = std::move(emitted);
    got["finished"] = names(update_.finished);
    return got;
  }

  bool drained() const { return scheduler_.waiting() + scheduler_.running() == 0; }

 private:
  static double priority(const json& entry) { return value_or(entry, "priority", 0.5); }

  void arrive(const std::string& name, SimTime now) {
    const Request& request = requests_.at(name);
    Sequence& s = sequences_.emplace_back();
    s.request = &request;
    s.slot = static_cast<std::uint32_t>(request.id);
    s.order = sequences_.size();
    s.arrival = now;
    s.prompt_tokens = request.prompt_tokens;
    s.max_tokens = s.output_target = request.max_tokens;
    s.priority = request.priority;
    scheduler_.add(s);
  }

  const std::string& name(const Sequence* s) const { return names_[s->request->id]; }

  json names(const std::vector<Sequence*>& sequences) const {
    json list = json::array();
    for (const Sequence* s : sequences) list.push_back(name(s));
    return list;
  }

  json requests_state() const {
    json all = json::object();
    for (const Sequence& s : sequences_) {
      if (s.finished()) continue;
      const std::int32_t prompt = scheduler_.prompt_length(s);
      all[name(&s)] = {{"remaining_max_new", scheduler_.longest(s) - prompt},
                       {"prompt_len", prompt},
                       {"generated", s.known_tokens() - prompt},
                       {"context_position", std::min(s.computed_tokens, prompt)}};
    }
    return all;
  }

  void describe_plan(json& got) const {
    json scheduled = json::array();
    for (const ScheduledSequence& item : entries_) {
      json entry = {{"id", name(item.sequence)},
                    {"kind", item.prefill ? "context" : "generation"},
                    {"num_tokens", item.num_tokens}};
      if (item.prefill) entry["position_before"] = item.computed_before;
      scheduled.push_back(std::move(entry));
    }
    json held = json::object();
    for (const Sequence& s : sequences_) {
      if (!s.finished()) held[name(&s)] = scheduler_.blocks_held(s);
    }
    got["fit"] = names(scheduler_.fitting());
    got["paused"] = names(plan_.preempted);
    got["scheduled"] = std::move(scheduled);
    got["total_tokens"] = plan_.total_tokens;
    got["blocks_held"] = std::move(held);
    got["free_blocks"] = scheduler_.kv_usage().free_blocks;
  }

  Trtllm scheduler_;
  std::map<std::string, Request> requests_;
  std::vector<std::string> names_;
  std::deque<Sequence> sequences_;
  StepPlan plan_;
  std::vector<ScheduledSequence> entries_;  // of it, gathered generations written out
  StepUpdate update_;
};

std::optional<Disagreement> replay_way(const json& recording, bool gather) {
  static constexpr std::string_view kMaps[] = {"blocks_held", "request_state"};
  Replay replay(recording, gather);
  for (const json& recorded : recording.at("steps")) {
    const json got = replay.step(recorded);
    if (auto found = compare_record(recorded.at("step"), recorded, got, kMaps)) return found;
  }
  if (!replay.drained()) return Disagreement{-1, "steps", "all finished", "requests left over"};
  return std::nullopt;
}

}  // namespace

// Once with an entry for every sequence, once with the decodes gathered, as a run plans them.
std::optional<Disagreement> replay_trtllm(const json& recording, const std::filesystem::path&) {
  if (auto found = replay_way(recording, false)) return found;
  return replay_way(recording, true);
}

}  // namespace headway::conformance
