// Decoding sequences of vllm-v1 planned together (decode_set.h), and many of their steps at once.
//
// The gathered ones are the first of the running sequences, so that they come first in budget and in
// blocks, as when each is walked to. Where there is too little of either they scatter: that step is
// planned one by one, and whoever decodes after it is gathered again.
#include <algorithm>

#include "sim/scheduling/decode_blocks.h"
#include "sim/scheduling/vllm_v1.h"

namespace headway {

void VllmV1::plan_gathered(StepPlan& plan) {
  decodes_.drain([&](const Sequence& s) { kv_.scatter(s.slot); });
  if (decodes_.growing() == 0) return;
  std::int64_t blocks = kv_.blocks_next_tick();
  const std::int64_t others = running() - decodes_.size();
  // By priority, another running sequence in need of blocks could preempt one of the gathered.
  if (by_priority_ && others > 0) blocks += kv_.blocks_for(budget_) + others;
  if (decodes_.growing() > budget_ || blocks > kv_.pool().free_blocks()) {
    scatter_all(plan);
    return;
  }
  kv_.tick();
  plan.decodes = decodes_.tick();
  budget_ -= plan.decodes.sequences;
  hash_known(kv_.ticks());
}

// As each allocation of a step does, hashes what is full and known. Asynchronous scheduling knows all
// but what the steps in flight sample; a sequence gathered by the plan before this one waits for the
// token that made it a decode.
void VllmV1::hash_known(std::int64_t tick) {
  if (!prefix_caching_) return;
  if (!async_) {
    kv_.hash_ticked(tick, tick - 1);
    return;
  }
  kv_.hash_ticked(tick - 1, tick - 1);
  if (decodes_.completed() == tick - 1) kv_.hash_ticked(tick, tick - 2);
}

// After a plan: gathers those that want one token a step from the next plan on.
void VllmV1::gather(StepPlan& plan) {
  for (auto i = static_cast<std::size_t>(decodes_.size()); i < running_.size(); ++i) {
    Sequence& s = *running_[i];
    const std::int32_t sampled = async_ ? s.placeholders : 1;  // in flight
    const bool decodes = sampled > 0 && s.computed_tokens == s.known_tokens() + sampled - 1;
    const std::int32_t longest = longest_answer(s);
    const std::int32_t left = longest - s.output_tokens - sampled;
    // Several answers to one request are not told alike (of beams only one is heard).
    if (!decodes || left < 1 || s.group != nullptr || s.sample != 0) return;
    const bool foreseen =
        async_ && (longest == s.max_tokens || longest == max_model_len_ - s.prompt_tokens);
    decodes_.join(s, left, foreseen);
    kv_.gather(s.slot);
    plan.gathered.push_back(&s);
  }
}

void VllmV1::scatter(Sequence& s) {
  decodes_.scatter(s);
  if (kv_.gathered(s.slot)) kv_.scatter(s.slot);
}

void VllmV1::scatter_all(StepPlan& plan) {
  plan.scattered.assign(running_.begin(), running_.begin() + decodes_.size());
  for (Sequence* s : plan.scattered) scatter(*s);
}

void VllmV1::settle() {
  for (std::int64_t i = 0; i < decodes_.size(); ++i) {
    decodes_.settle(*running_[static_cast<std::size_t>(i)]);
  }
}

void VllmV1::write_out(const StepPlan& plan, std::vector<ScheduledSequence>& out) const {
  out.clear();
  for (const Sequence* s : running_) {
    if (plan.decodes.sequences > 0 && decodes_.takes_part(*s)) out.push_back(decodes_.entry(*s));
  }
  out.insert(out.end(), plan.scheduled.begin(), plan.scheduled.end());
}

void VllmV1::complete_gathered(StepUpdate& update) {
  const DecodeSet::Completed done = decodes_.complete();
  update.gathered_tokens = done.emitted;
  if (async_) kv_.hash_ticked(done.tick, done.tick - 1);
  while (Sequence* s = decodes_.next_finished()) {
    if (kv_.gathered(s->slot)) kv_.scatter(s->slot);
    if (async_) kv_.cache_blocks(s->slot, s->computed_tokens - s->placeholders);
    running_.erase(std::find(running_.begin(), running_.end(), s));
    end_answer(*s, update);
  }
  for (const ScheduledSequence& entry : done.scattered) complete_entry(entry, 0, update);
}

void VllmV1::repeats(const StepPlan& plan, Repeats& out) const {
  out.clear();
  if (kv_.groups() != nullptr) return repeats_one_by_one(plan, out);
  const bool all_gathered = plan.scheduled.empty() && decodes_.size() == running();
  if (!all_gathered || !decodes_.steady() || !nobody_will_join(plan)) return;
  out.steps = decodes_.next_finish() - decodes_.planned();
  if (out.steps <= 0) return;
  out.new_blocks.resize(static_cast<std::size_t>(kv_.block_size()));
  kv_.blocks_ahead(out.new_blocks);
  limit_by_blocks(out, decodes_.size(), kv_.pool().free_blocks());
}

// A step gives a sequence one token. The gathered ones' ends are known; the others are few, or not
// looked at.
std::int64_t VllmV1::quiet_steps() const {
  constexpr std::size_t kFew = 16;
  const std::size_t others = running_.size() - static_cast<std::size_t>(decodes_.size());
  const bool may_reject = outgrows_seen_ || !chunked_prefill_ || !refused_.empty();
  const bool foreseen = keeps_step_ && kv_.groups() == nullptr && !groups_seen_ && !may_reject &&
                        received_.empty() && expected_ == 0;
  if (!foreseen || others + waiting_.size() > kFew) return kUnsaid;
  if (running_.empty() && waiting_.empty()) return 0;
  std::int64_t steps = decodes_.quiet_ticks();
  const auto limit = [&](const Sequence* s) {
    steps = std::min<std::int64_t>(steps, longest_answer(*s) - s->output_tokens - 1);
  };
  std::for_each(running_.begin() + decodes_.size(), running_.end(), limit);
  waiting_.each(limit);
  return std::max<std::int64_t>(steps, 0);
}

// The head of the queue was refused just now for a seat, for budget or for blocks. Seats and budget
// stay taken, and free blocks only become fewer; but with prefix caching the decodes may complete a
// block that it shares.
bool VllmV1::nobody_will_join(const StepPlan& plan) const {
  if (!plan.preempted.empty() || !plan.rejected.empty() || !refused_.empty()) return false;
  if (!received_.empty() && running() < max_num_seqs_) return false;
  return waiting_.empty() || running() >= max_num_seqs_ || !prefix_caching_;
}

void VllmV1::repeat(const StepPlan&, std::int64_t steps) {
  if (kv_.groups() != nullptr) return repeat_one_by_one(steps);
  kv_.tick(steps);
  if (prefix_caching_) {
    const std::int64_t newest = kv_.ticks() - (async_ ? 1 : 0);
    for (std::int64_t tick = newest - steps + 1; tick <= newest; ++tick) {
      kv_.hash_ticked(tick, tick - 1);
    }
  }
  decodes_.repeat(steps);
}

}  // namespace headway
