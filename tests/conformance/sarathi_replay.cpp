// Recordings of microsoft/sarathi-serve's schedulers: schema "llmsim-golden-sarathi-repo/1"
// (policies static, orca, sarathi, vllm-0.2). Only amounts are recorded, no block ids.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/core/errors.h"
#include "sim/scheduling/batch_scheduler.h"
#include "sim/scheduling/policies.h"
#include "tests/conformance/replay.h"

namespace headway::conformance {
namespace {

using nlohmann::json;

constexpr std::int32_t kUnlimited = 1 << 30;

SchedulerConfig read_config(const json& recording, bool gather) {
  const json& recorded = recording.at("config");
  SchedulerConfig config;
  EngineOptions& engine = config.engine;
  engine.scheduler = recording.at("policy");
  engine.max_num_seqs = recorded.at("max_num_seqs");
  engine.max_model_len = recorded.at("max_model_len");
  engine.block_size = recorded.at("block_size");
  engine.max_num_batched_tokens =
      recorded.value("chunk_size", recorded.value("max_batched_tokens", kUnlimited));
  engine.watermark = recorded.value("watermark", 0.01);
  engine.batch_timeout_ms = 0;  // the recorded code does not wait for a full batch
  config.num_blocks = recorded.at("num_gpu_blocks");
  config.gather_decodes = gather;
  return config;
}

std::unique_ptr<BatchScheduler> make(const SchedulerConfig& config) {
  const std::string& policy = config.engine.scheduler;
  std::unique_ptr<Scheduler> made;
  if (policy == "sarathi") {
    made = make_sarathi_as_recorded(config);
  } else if (policy == "vllm-0.2") {
    made = make_vllm_02_as_recorded(config);
  } else {
    made = make_scheduler(config);
  }
  auto* batch = dynamic_cast<BatchScheduler*>(made.get());
  if (batch == nullptr) throw InputError("no replay for policy " + policy);
  made.release();
  return std::unique_ptr<BatchScheduler>(batch);
}

class Replay {
 public:
  Replay(const json& recording, bool gather)
      : config_(read_config(recording, gather)), scheduler_(make(config_)) {
    for (const json& entry : recording.at("requests")) {
      Request& request = requests_.emplace_back();
      request.id = requests_.size() - 1;
      request.prompt_tokens = entry.at("prompt_len");
      request.output_tokens = request.max_tokens = entry.at("max_tokens");
      names_.push_back(entry.at("id"));
      by_name_[names_.back()] = request.id;
    }
  }

  json step(const json& recorded) {
    const std::int64_t index = recorded.at("step");
    const SimTime now = SimTime::from_seconds(static_cast<double>(index));
    json got = {{"step", index}, {"arrivals", json::array()}};
    for (const std::string name : recorded.value("arrivals", json::array())) {
      arrive(name, now);
      got["arrivals"].push_back(name);
    }
    scheduler_->plan(now, plan_);
    scheduler_->write_out(plan_, entries_);
    describe_plan(got);
    scheduler_->check_kv();
    if (!plan_.empty()) {
      scheduler_->complete(plan_, {}, update_);
    } else {
      update_.clear();
    }
    scheduler_->check_kv();
    describe_update(got);
    return got;
  }

 private:
  void arrive(const std::string& name, SimTime now) {
    const Request& request = requests_[by_name_.at(name)];
    Sequence& sequence = sequences_.emplace_back();
    sequence.request = &request;
    sequence.slot = static_cast<std::uint32_t>(request.id);
    sequence.order = sequences_.size();
    sequence.arrival = now;
    sequence.prompt_tokens = request.prompt_tokens;
    sequence.max_tokens = sequence.output_target = request.max_tokens;
    scheduler_->add(sequence);
  }

  const std::string& name(const Sequence* sequence) const { return names_[sequence->request->id]; }

  template <typename Sequences>
  json names(const Sequences& sequences) const {
    json list = json::array();
    for (const auto* sequence : sequences) list.push_back(name(sequence));
    return list;
  }

  void describe_plan(json& got) const {
    json scheduled = json::array();
    for (const ScheduledSequence& item : entries_) {
      json entry = {{"id", name(item.sequence)},
                    {"kind", item.prefill ? "prefill" : "decode"},
                    {"num_tokens", item.num_tokens},
                    {"num_blocks", scheduler_->kv().blocks_of(item.sequence->slot)}};
      if (item.prefill) entry["prompt_done_before"] = item.computed_before;
      scheduled.push_back(std::move(entry));
    }
    json ignored = json::array();
    for (const Rejection& rejection : plan_.rejected) ignored.push_back(name(rejection.sequence));
    got["scheduled"] = std::move(scheduled);
    got["ignored"] = std::move(ignored);
    got["total_tokens"] = plan_.total_tokens;
    got["preempted_in_order"] = names(plan_.preempted);
    got["free_blocks_after_schedule"] = scheduler_->kv_usage().free_blocks;
  }

  void describe_update(json& got) const {
    json emitted = json::array();
    for (const auto& emission : update_.emitted) emitted.push_back(name(emission.sequence));
    const std::size_t together = entries_.size() - plan_.scheduled.size();
    SIM_CHECK(update_.gathered_tokens == static_cast<std::int64_t>(together));
    for (const ScheduledSequence& item : entries_) {
      const auto is_it = [&](const ScheduledSequence& other) {
        return other.sequence == item.sequence;
      };
      const auto& alone = plan_.scheduled;
      if (std::none_of(alone.begin(), alone.end(), is_it)) emitted.push_back(name(item.sequence));
    }
    got["emitted"] = std::move(emitted);
    got["finished"] = names(update_.finished);
    got["after_update"] = {{"running", names(scheduler_->running_sequences())},
                           {"waiting", names(scheduler_->waiting_sequences())},
                           {"num_free_blocks", scheduler_->kv_usage().free_blocks}};
  }

  SchedulerConfig config_;
  std::unique_ptr<BatchScheduler> scheduler_;
  std::deque<Request> requests_;
  std::deque<Sequence> sequences_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint64_t> by_name_;
  StepPlan plan_;
  std::vector<ScheduledSequence> entries_;  // of it, gathered decodes written out
  StepUpdate update_;
};

// The recorder lists these two by name, not in batch order.
void sort_sets(json& step) {
  for (const char* key : {"emitted", "finished"}) {
    if (step.contains(key)) std::sort(step[key].begin(), step[key].end());
  }
}

std::optional<Disagreement> replay_way(const json& recording, bool gather) {
  Replay replay(recording, gather);
  const std::string policy = recording.at("policy");
  // Those that visit the running by arrival keep the gathered in front of the others.
  const bool reordered = gather && (policy == "sarathi" || policy == "vllm-0.2");
  for (json recorded : recording.at("steps")) {
    json got = replay.step(recorded);
    for (json* step : {&recorded, &got}) {
      sort_sets(*step);
      if (!reordered || !step->contains("after_update")) continue;
      json& running = (*step)["after_update"]["running"];
      std::sort(running.begin(), running.end());
    }
    if (auto found = compare_record(recorded.at("step"), recorded, got, {})) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Disagreement> replay_sarathi_repo(const json& recording,
                                                const std::filesystem::path&) {
  // Once with an entry for every sequence, once with the decodes gathered, as a run plans them.
  if (auto found = replay_way(recording, false)) return found;
  return replay_way(recording, true);
}

}  // namespace headway::conformance
