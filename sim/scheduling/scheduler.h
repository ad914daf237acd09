#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/kv/kv_layout.h"
#include "sim/kv/kv_usage.h"
#include "sim/scheduling/engine_options.h"
#include "sim/scheduling/step_plan.h"

namespace headway {

class PagedKv;

// What a scheduler is built from. Options are resolved (no zero stands for a default).
struct SchedulerConfig {
  EngineOptions engine;
  std::int64_t num_blocks =
      0;  // KV blocks of engine.block_size tokens (vLLM V1: includes null block 0)
  std::int64_t num_cpu_blocks = 0;     // swap space
  std::int64_t num_offload_blocks = 0;  // behind the prefix cache (kv/host_tier.h)
  std::int32_t batches_in_flight = 1;  // 2 with async scheduling, pipeline_parallel_size with PP
  std::int32_t pipeline_parallel_size = 1;
  std::int32_t num_speculative_tokens = 0;
  std::string_view speculation;  // "" | "ngram" | "eagle" | "draft_model" ...
  // Diffusion models: tokens of a block, and passes over it (GenerationSpec).
  std::int32_t block_length = 1;
  std::int32_t refinement_steps = 1;
  double slo_ttft_ms = 0;        // the scenario's TTFT limit (edf); 0 = none
  std::uint64_t seed = 0;        // policies that draw (sglang "random")
  bool gather_decodes = false;   // decoding sequences are planned together (decode_set.h)
  bool counts_blocks = false;    // blocks need no names: nothing is shared, nobody looks at tables
  KvLayout kv;                   // what a sequence takes of the blocks, by its scheduler's KvRule
};

// The KV of a replica as `layout` has it, in config.num_blocks blocks: the engine's block size
// follows, recurrent models are without prefix caching, and no more sequences run than have a slot
// for their states (`state_slots`, 0 = as many as blocks allow).
void apply_layout(const KvLayout& layout, std::int64_t state_slots, SchedulerConfig& config);

// For how long a plan holds. A buffer that the caller reuses.
struct Repeats {
  std::int64_t steps = 0;  // further steps
  // KV blocks that the sequences take in further step j (1, 2, ...), with period n = its size:
  // new_blocks[(j - 1) % n]; below zero where windows give back more. Empty: none are ever taken.
  std::vector<std::int32_t> new_blocks;
  void clear() {
    steps = 0;
    new_blocks.clear();
  }
};

// What became of a sequence that was announced with expect().
struct Expected {
  bool taken = false;              // it has its blocks; false: there is no room now
  std::int32_t cached_tokens = 0;  // of its prompt, found here: their KV need not be sent
  std::string never;               // why it can never have them; "" = it can
};

// Decides the steps of one replica. Owns the queues and the KV of its engine; reads no clock
// (`now` is passed in), schedules no event, records no metric.
//
// Life of a sequence: add() (or expect(), receive()) -> plan() ... complete() ... until complete()
// reports it finished.
// With batches_in_flight = D, up to D plans may be outstanding; they complete in plan order.
//
// Invariants every policy keeps (tests/contract runs them over the whole table):
//  INV-2 free + held (by reference count) = total after every call, nothing held at the end;
//  INV-4 no plan exceeds the token budget, the sequence cap or the blocks there are;
//  INV-5 no empty plan while something could run (unless wake_at says when);
//  INV-6 every sequence finishes or is rejected with a reason.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // The sequence joins the waiting queue. Arrivals of one instant are added in arrival order
  // before plan() is called. A sequence with a group leads it: with it, all its members join.
  virtual void add(Sequence& sequence) = 0;
  // The client is gone: leaves queues and KV at once. No effect on a finished sequence. Beams leave
  // together, and so do samples whose prompt is not computed yet.
  virtual void abort(Sequence& sequence) = 0;

  // Between replicas (SchedulerEntry::receives_kv, hands_over_kv). In the place of add(): another
  // replica has computed the sequence's prompt and emitted its first output_tokens. It gets blocks
  // for all known tokens at once, where they are free and nobody waits for some, and is kReceiving;
  // receive() says that its KV has come. From then on it only wants a seat, ahead of those that want
  // blocks too, and decodes; preempted, it computes everything anew.
  // REQUIRES of expect(): no group. Where it does not take the sequence, nothing has changed.
  virtual Expected expect(Sequence& sequence);
  virtual void receive(Sequence& sequence);
  // The KV of a sequence that has finished and keeps_kv has been sent.
  virtual void release(Sequence& sequence);

  // Decides the next step, takes its KV blocks and moves `computed_tokens` forward at once.
  virtual void plan(SimTime now, StepPlan& plan) = 0;
  // The step of `plan` has run: appends tokens, finishes sequences, frees KV.
  virtual void complete(const StepPlan& plan, const StepResult& result, StepUpdate& update) = 0;

  // How many more times the scheduler will make this very plan, as far as it is certain: the same
  // sequences in the same order, one token each, nobody admitted, preempted or finished. Holds until
  // a sequence is added or aborted. May be cautious; 0 is always right.
  // REQUIRES: `plan` is the newest, all outstanding ones name the same sequences, as many as there
  // are batches in flight.
  virtual void repeats(const StepPlan& /*plan*/, Repeats& out) const { out.clear(); }
  // Leaves the scheduler as if, `steps` times, the oldest plan had completed and this one been made
  // again. REQUIRES: repeats() has promised that many.
  virtual void repeat(const StepPlan& plan, std::int64_t steps);

  // For who looks rarely: how many of the coming complete() calls, from the oldest outstanding plan on,
  // surely end no sequence, if nothing is added or aborted; nor do the plans between them reject one or
  // name an instant to look again. May be cautious; kUnsaid: nothing is promised.
  static constexpr std::int64_t kUnsaid = -1;
  virtual std::int64_t quiet_steps() const { return kUnsaid; }

  // The newest plan with an entry for every sequence in it, in batch order, gathered decodes included.
  virtual void write_out(const StepPlan& plan, std::vector<ScheduledSequence>& out) const {
    out = plan.scheduled;
  }
  // Brings the counts of gathered sequences up to date, for who looks at them.
  virtual void settle() {}

  // Waiting, preempted and swapped sequences, and those whose group has yet to fork.
  virtual std::int64_t waiting() const = 0;
  virtual std::int64_t running() const = 0;
  virtual KvUsage kv_usage() const = 0;
  // The KV with its block tables, where the scheduler names its blocks; null where it only counts.
  virtual const PagedKv* paged_kv() const { return nullptr; }
  // Throws InternalError when KV conservation (INV-2) does not hold. Walks everything: tests only.
  virtual void check_kv() const = 0;
};

// What max_num_batched_tokens binds (INV-4).
enum class TokenBudgetRule : std::uint8_t {
  kAlways,        // every step
  kButOnePrompt,  // prompts are not split: one that is longer is the only prompt of its step
  kNone,          // the engine has no such setting
};

// One row of the visible table (scheduler_table.cpp): name, one line of help, factory.
struct SchedulerEntry {
  std::string_view name;
  std::string_view help;  // "engine version: what the rule is"
  std::unique_ptr<Scheduler> (*make)(const SchedulerConfig&);
  TokenBudgetRule token_budget = TokenBudgetRule::kAlways;
  bool pipelined = false;  // takes several plans in flight (async scheduling, pipeline stages)
  // Sets the engine's own defaults where they differ from EngineOptions' (vLLM V1's); may be null.
  void (*defaults)(EngineOptions&) = nullptr;
  bool synchronous = false;  // of the two kinds in flight, knows pipeline stages only
  // Shares the KV of a request's samples or beams (sequence_group.h). Other engines run them as so
  // many sequences that know nothing of each other, and a beam then never changes its parent.
  bool forks = false;
  KvRule kv_rule = KvRule::kGroups;  // how its engine keeps windows and states (kv_layout.h)
  bool diffuses = false;  // for diffusion language models, and for no others
  bool hands_over_kv = false;  // keeps the KV of a sequence past its end until it is released
  bool receives_kv = false;    // takes sequences whose prompt another replica has computed
  bool offloads_kv = false;    // keeps the prefix cache's blocks in host memory too
};
std::span<const SchedulerEntry> scheduler_table();
// InputError that names the nearest entry when there is none.
const SchedulerEntry& find_scheduler(const std::string& name);
std::unique_ptr<Scheduler> make_scheduler(const SchedulerConfig& config);

}  // namespace headway
