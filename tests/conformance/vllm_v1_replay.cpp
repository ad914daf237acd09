// Recordings of vLLM V1's scheduler ("llmsim-golden-vllm-v1/1", described in recordings/README.md),
// replayed through VllmV1 and PagedKv in the engine's own loop over batches in flight.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/core/errors.h"
#include "sim/scheduling/vllm_v1.h"
#include "tests/conformance/recorded_request.h"
#include "tests/conformance/replay.h"

namespace headway::conformance {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kMaps = {"computed", "block_tables", "emitted"};

const char* kind_name(ScheduledKind kind) {
  switch (kind) {
    case ScheduledKind::kNew:
      return "new";
    case ScheduledKind::kRunning:
      return "running";
    case ScheduledKind::kResumed:
      return "resumed";
  }
  return "";
}

const char* reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "FINISHED_STOPPED";
    case FinishReason::kLength:
      return "FINISHED_LENGTH_CAPPED";
    case FinishReason::kAborted:
      return "FINISHED_ABORTED";
    default:
      return "FINISHED_ERROR";
  }
}

// The value for the n-th occasion of a pattern that repeats for ever.
std::int32_t cyclic(const std::vector<std::int32_t>& pattern, std::size_t n, std::int32_t absent) {
  return pattern.empty() ? absent : pattern[n % pattern.size()];
}

// A recorded request, and how far its patterns have been used up.
struct Recorded {
  std::string id;
  Request request;
  Sequence sequence;
  std::vector<std::int32_t> accept_pattern;
  std::vector<std::int32_t> draft_pattern;
  std::size_t verified_steps = 0;
  std::size_t sampling_steps = 0;
};

SchedulerConfig read_config(const json& recording, bool gather) {
  const json& c = recording.at("config");
  const json& budget = c.at("max_num_scheduled_tokens");
  const json& spec = c.at("spec");
  SchedulerConfig config;
  EngineOptions& engine = config.engine;
  engine.max_num_seqs = c.at("max_num_seqs");
  engine.max_num_batched_tokens = budget.is_null() ? c.at("max_num_batched_tokens") : budget;
  engine.max_model_len = c.at("max_model_len");
  engine.block_size = c.at("block_size");
  engine.enable_prefix_caching = c.at("enable_prefix_caching");
  engine.enable_chunked_prefill = c.at("enable_chunked_prefill");
  engine.long_prefill_token_threshold = c.at("long_prefill_token_threshold");
  engine.policy = c.at("policy");
  engine.async_scheduling = c.at("async_scheduling");
  // v0.16 has no such rule, whatever its recordings say.
  const bool has_rule = !recording.value("source", "").starts_with("vLLM v0.");
  engine.scheduler_reserve_full_isl = has_rule && c.value("scheduler_reserve_full_isl", false);
  config.num_blocks = c.at("num_gpu_blocks");
  config.num_speculative_tokens = c.at("num_speculative_tokens");
  if (!spec.is_null()) config.speculation = spec.get_ref<const std::string&>();
  const std::int32_t stages = c.at("pipeline_parallel_size");
  config.pipeline_parallel_size = stages;
  config.gather_decodes = gather;
  config.batches_in_flight = stages > 1 ? stages : (engine.async_scheduling ? 2 : 1);
  return config;
}

class Replay {
 public:
  Replay(const json& recording, bool gather)
      : recording_(recording), config_(read_config(recording, gather)), scheduler_(config_) {
    for (const json& r : recording.at("requests")) add_request(r);
  }

  std::int64_t gathered() const { return gathered_; }

  std::optional<Disagreement> run() {
    for (const json& step : recording_.at("steps")) {
      if (auto found = run_step(step)) return found;
    }
    return std::nullopt;
  }

 private:
  struct Batch {
    std::int64_t step = 0;
    StepPlan plan;
    std::vector<ScheduledSequence> entries;  // of the plan, gathered decodes written out
  };

  void add_request(const json& r) {
    auto recorded = std::make_unique<Recorded>();
    Request& request = recorded->request;
    recorded->id = r.at("id");
    request = read_token_request(r, requests_.size());
    recorded->accept_pattern = r.value("accept_pattern", std::vector<std::int32_t>{});
    recorded->draft_pattern = r.value("draft_pattern", std::vector<std::int32_t>{});
    recorded->sequence =
        make_sequence(request, static_cast<std::uint32_t>(request.id), 0, SimTime());
    requests_.emplace(recorded->id, std::move(recorded));
  }

  Recorded& named(const std::string& id) {
    const auto found = requests_.find(id);
    if (found == requests_.end()) throw InputError("no request named " + id);
    return *found->second;
  }

  const Recorded& of(const Sequence* sequence) const { return *by_slot_.at(sequence->slot); }

  std::optional<Disagreement> run_step(const json& step) {
    const std::int64_t number = step.at("step");
    for (const json& id : step.value("arrivals", json::array())) arrive(named(id));
    for (const json& id : step.value("aborted", json::array())) {
      scheduler_.abort(named(id).sequence);
    }
    // Inputs count as agreed; all else is what the replay makes of them.
    json got = {{"step", number}};
    for (const char* input : {"arrivals", "aborted"}) {
      if (step.contains(input)) got[input] = step[input];
    }
    bool wait_for_more = false;
    if (step.contains("scheduled")) {
      wait_for_more = schedule(number, got) &&
                      in_flight_.size() < static_cast<std::size_t>(config_.batches_in_flight);
    }
    if (!wait_for_more && !in_flight_.empty()) update(got);
    if (step.contains("emitted") != got.contains("emitted")) {
      return Disagreement{number, "emitted", step.contains("emitted") ? "an update" : "no update",
                          got.contains("emitted") ? "an update" : "no update"};
    }
    return compare_record(number, step, got, kMaps);
  }

  void arrive(Recorded& recorded) {
    Sequence& sequence = recorded.sequence;
    sequence.order = arrived_++;
    sequence.arrival = SimTime::from_ns(static_cast<std::int64_t>(sequence.order));
    by_slot_[sequence.slot] = &recorded;
    scheduler_.add(sequence);
  }

  // Whether anything was scheduled. An empty batch enters the queue as well.
  bool schedule(std::int64_t step, json& got) {
    std::map<const Sequence*, std::size_t> blocks_before;
    for (const Sequence* s : scheduler_.running_list()) {
      blocks_before[s] = scheduler_.kv().table(s->slot).size();
    }
    Batch& batch = in_flight_.emplace_back();
    batch.step = step;
    scheduler_.plan(SimTime::from_ns(step), batch.plan);
    scheduler_.write_out(batch.plan, batch.entries);
    scheduler_.settle();
    scheduler_.check_kv();
    gathered_ += batch.plan.decodes.sequences;
    got["scheduled"] = json::array();
    for (const ScheduledSequence& entry : batch.entries) {
      const auto& table = scheduler_.kv().table(entry.sequence->slot);
      const bool whole = entry.kind != ScheduledKind::kRunning;
      const auto old = static_cast<std::ptrdiff_t>(whole ? 0 : blocks_before[entry.sequence]);
      got["scheduled"].push_back(
          {{"id", of(entry.sequence).id},
           {"kind", kind_name(entry.kind)},
           {"computed_before", entry.computed_before},
           {"num_tokens", entry.num_tokens},
           {"num_spec_tokens", entry.draft_tokens},
           {"new_block_ids", std::vector<BlockId>(table.begin() + old, table.end())},
           {"samples", entry.samples}});
    }
    got["total_tokens"] = batch.plan.total_tokens;
    got["preempted_in_order"] = json::array();
    for (const Sequence* s : batch.plan.preempted) got["preempted_in_order"].push_back(of(s).id);
    const auto& running = scheduler_.running_list();
    got["num_common_prefix_blocks"] =
        running.empty() ? 0 : scheduler_.kv().common_prefix_blocks(running.front()->slot);
    got["after_schedule"] = state();
    return !batch.plan.empty();
  }

  void update(json& got) {
    const Batch batch = std::move(in_flight_.front());
    in_flight_.pop_front();
    StepResult result;
    for (const ScheduledSequence& entry : batch.plan.scheduled) {
      result.accepted_drafts.push_back(accepted(entry));
    }
    std::vector<std::int32_t> emitted_before;
    for (const auto& entry : batch.entries) emitted_before.push_back(entry.sequence->output_tokens);
    StepUpdate update;
    scheduler_.complete(batch.plan, result, update);
    scheduler_.settle();
    scheduler_.check_kv();
    got["emitted"] = json::object();
    got["finished"] = json::array();
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch.plan.decodes.sequences); ++i) {
      const Sequence* s = batch.entries[i].sequence;
      if (s->output_tokens == emitted_before[i]) continue;
      got["emitted"][of(s).id] = s->output_tokens - emitted_before[i];
    }
    for (const auto& emission : update.emitted) {
      got["emitted"][of(emission.sequence).id] = emission.tokens;
    }
    for (const Sequence* s : update.finished) {
      got["finished"].push_back({{"id", of(s).id}, {"reason", reason_name(s->finish_reason)}});
    }
    got["update_of_step"] = batch.step;
    got["after_update"] = state();
    if (!config_.engine.async_scheduling) propose_drafts(batch.plan);
  }

  std::int32_t accepted(const ScheduledSequence& entry) {
    Recorded& recorded = *by_slot_.at(entry.sequence->slot);
    if (entry.draft_tokens == 0) return 0;
    return std::min(cyclic(recorded.accept_pattern, recorded.verified_steps++, 0),
                    entry.draft_tokens);
  }

  void propose_drafts(const StepPlan& plan) {
    for (const ScheduledSequence& entry : plan.scheduled) {
      if (!entry.samples) continue;
      Recorded& recorded = *by_slot_.at(entry.sequence->slot);
      const std::int32_t drafts =
          cyclic(recorded.draft_pattern, recorded.sampling_steps++, config_.num_speculative_tokens);
      if (entry.sequence->takes_drafts()) entry.sequence->draft_tokens = drafts;
    }
  }

  json state() const {
    json running = json::array();
    json waiting = json::array();
    json computed = json::object();
    json tables = json::object();
    const PagedKv& kv = scheduler_.kv();
    for (const Sequence* s : scheduler_.running_list()) {
      running.push_back(of(s).id);
      computed[of(s).id] = s->computed_tokens;
      tables[of(s).id] = kv.table(s->slot);
    }
    for (const Sequence* s : scheduler_.waiting_list()) waiting.push_back(of(s).id);
    return {{"running", running},
            {"waiting", waiting},
            {"computed", computed},
            {"num_free_blocks", kv.pool().free_blocks()},
            {"block_tables", tables},
            {"free_queue_head_first", kv.pool().free_queue()},
            {"hashed_blocks", kv.pool().hashed_blocks()}};
  }

  const json& recording_;
  SchedulerConfig config_;
  VllmV1 scheduler_;
  std::map<std::string, std::unique_ptr<Recorded>> requests_;
  std::map<std::uint32_t, Recorded*> by_slot_;
  std::deque<Batch> in_flight_;
  std::uint64_t arrived_ = 0;
  std::int64_t gathered_ = 0;  // decodes that the plans held so
};

}  // namespace

// Once with an entry for every sequence, once with the decodes gathered, as a run plans them.
std::optional<Disagreement> replay_vllm_v1(const json& recording, const std::filesystem::path&) {
  if (auto found = Replay(recording, false).run()) return found;
  return Replay(recording, true).run();
}

std::int64_t gathered_decodes_of(const json& recording) {
  Replay replay(recording, true);
  replay.run();
  return replay.gathered();
}

}  // namespace headway::conformance
