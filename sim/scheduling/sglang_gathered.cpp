// Decoding sequences of sglang planned together (decode_set.h). Where their pages are short they
// scatter, and retraction walks to them one by one.
//
// A prefill batch holds decodes up, so a newcomer is gathered with its first decode step, not with
// its prompt: then all of them have had their last token at the end of the same step.
#include "sim/scheduling/sglang.h"

namespace headway {

// After a decode step was planned.
void Sglang::gather(StepPlan& plan) {
  const std::vector<SglangBatch::Member>& members = running_.members;
  for (auto i = static_cast<std::size_t>(decodes_.size()); i < members.size(); ++i) {
    Sequence& s = *members[i].sequence;
    const std::int32_t sampled = s.placeholders;  // in flight
    const bool steady = sampled > 0 && s.computed_tokens == s.known_tokens() + sampled - 1;
    const std::int32_t left = longest_output(s) - s.output_tokens - sampled;
    // Several answers to one request are not told alike (of beams only one is heard).
    if (!steady || left < 1 || s.group != nullptr || s.sample != 0) return;
    decodes_.join(s, left, false);
    pool_.gather(s.slot);
    plan.gathered.push_back(&s);
  }
}

void Sglang::scatter(Sequence& s) {
  decodes_.scatter(s);
  pool_.scatter(s.slot);
}

// REQUIRES: the batch is filtered.
void Sglang::scatter_all(StepPlan& plan) {
  for (std::int64_t i = 0; i < decodes_.size(); ++i) {
    plan.scattered.push_back(running_.members[static_cast<std::size_t>(i)].sequence);
  }
  for (Sequence* s : plan.scattered) scatter(*s);
}

void Sglang::complete_gathered(StepUpdate& update) {
  const DecodeSet::Completed done = decodes_.complete();
  update.gathered_tokens = done.emitted;
  while (Sequence* s = decodes_.next_finished()) {
    pool_.scatter(s->slot);
    end_answer(*s, update);
  }
  complete_entries(done.scattered, update);
}

void Sglang::settle() {
  if (decodes_.empty()) return;
  for (const SglangBatch::Member& m : running_.members) {
    if (m.sequence != nullptr && decodes_.contains(*m.sequence)) decodes_.settle(*m.sequence);
  }
}

void Sglang::write_out(const StepPlan& plan, std::vector<ScheduledSequence>& out) const {
  out.clear();
  if (plan.decodes.sequences > 0) {
    for (const SglangBatch::Member& m : running_.members) {
      if (decodes_.takes_part(*m.sequence)) out.push_back(decodes_.entry(*m.sequence));
    }
  }
  out.insert(out.end(), plan.scheduled.begin(), plan.scheduled.end());
}

}  // namespace headway
