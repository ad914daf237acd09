// Samples and beams that share their prompt's KV: the part of vllm-v1 that an ordinary request
// never enters. The rules are in vllm_v1.h.
#include <algorithm>
#include <string>

#include "sim/core/errors.h"
#include "sim/core/hash.h"
#include "sim/scheduling/vllm_v1.h"

namespace headway {
namespace {

constexpr std::uint64_t kGivenUp = hash_name("beam given up");
constexpr std::uint64_t kParent = hash_name("beam parent");

// In [0, 1), from (seed, request, position, beam) alone.
double luck(std::uint64_t seed, const Sequence& beam) {
  const auto position = static_cast<std::uint64_t>(beam.output_tokens);
  const std::uint64_t place = combine64(combine64(seed, beam.request->id), position);
  return static_cast<double>(combine64(place, static_cast<std::uint64_t>(beam.sample)) >> 11) *
         0x1.0p-53;
}

}  // namespace

std::int32_t VllmV1::followers_of(const Sequence& s) {
  if (s.group == nullptr || s.group->forked || s.sample != 0) return 0;
  const auto& members = s.group->members;
  return static_cast<std::int32_t>(std::count_if(members.begin() + 1, members.end(),
                                                 [](const Sequence* m) { return !m->finished(); }));
}

bool VllmV1::seats_free(const Sequence& s) const {
  const std::int64_t taken = static_cast<std::int64_t>(running_.size()) + seats_kept_;
  return taken + 1 + followers_of(s) <= max_num_seqs_;
}

std::string VllmV1::why_never(const SequenceGroup& group) const {
  const auto width = static_cast<std::int64_t>(group.members.size());
  const std::string what = std::to_string(width) + (group.beams ? " beams" : " samples");
  if (width > max_num_seqs_) {
    return what +
           " of one prompt need a seat each; max_num_seqs = " + std::to_string(max_num_seqs_);
  }
  if (!group.beams) return {};
  if (num_speculative_tokens_ > 0) return "beam search does not go with speculative decoding";
  if (width > max_step_tokens_) {
    return what +
           " must go in one step, but max_num_batched_tokens = " + std::to_string(max_step_tokens_);
  }
  // Preempted together, they never make room for one another: all of them have to fit at their end,
  // sharing no more than the full blocks of the prompt. The last token has no KV.
  const Sequence& s = group.leader();
  const std::int32_t longest =
      std::min({s.output_target, s.max_tokens, max_model_len_ - s.prompt_tokens});
  const std::int64_t each = kv_.blocks_for(s.prompt_tokens + longest - 1);
  const std::int64_t shared = kv_.blocks_for(s.prompt_tokens + 1) - 1;
  const std::int64_t need = std::max(each, shared + width * (each - shared));
  if (need <= kv_.pool().usable_blocks()) return {};
  return what + " of " + std::to_string(s.prompt_tokens + longest) + " tokens need up to " +
         std::to_string(need) + " KV blocks; the cache has " +
         std::to_string(kv_.pool().usable_blocks());
}

// The step that was just planned samples the group's first tokens, or those after a preemption of
// its beams. Taking KV by reference needs no free block.
void VllmV1::fork_group(ScheduledSequence& entry, StepPlan& plan) {
  Sequence& leader = *entry.sequence;
  SequenceGroup& group = *leader.group;
  entry.forks = true;
  group.forked = true;
  group.preemptions_at_fork.clear();
  auto place = std::find(running_.begin(), running_.end(), &leader) + 1;
  for (Sequence* member : group.members) {
    group.preemptions_at_fork.push_back(member->preemptions);
    if (member == &leader || member->finished()) continue;
    SIM_CHECK(member->output_tokens == leader.output_tokens);
    kv_.fork(leader.slot, member->slot);
    member->state = SequenceState::kRunning;
    member->computed_tokens = leader.computed_tokens;
    member->cached_tokens = leader.cached_tokens;
    member->placeholders = leader.placeholders;
    member->draft_tokens = leader.draft_tokens;
    place = running_.insert(place, member) + 1;
    --followers_;
    --seats_kept_;
    ++plan.forked_sequences;
  }
}

void VllmV1::sample_followers(const ScheduledSequence& entry, StepUpdate& update) {
  const SequenceGroup& group = *entry.sequence->group;
  for (std::size_t i = 1; i < group.members.size(); ++i) {
    Sequence& s = *group.members[i];
    if (s.finished()) continue;
    if (s.preemptions != group.preemptions_at_fork[i] && samples_anew(s)) continue;
    take_tokens(s, 1, update);
  }
}

// Beams stand one after the other in running_, their leader first. From it: how many to pass over
// because they cannot all go in this step, or await the result of the last one.
std::int32_t VllmV1::beams_held_back(const Sequence& s) const {
  if (!s.group->forked || s.sample != 0) return 0;
  const auto width = static_cast<std::int32_t>(s.group->members.size());
  return s.placeholders > 0 || budget_ < width ? width : 0;
}

// Preempts all beams of the victim, which has left running_ already. True when `needy` is one.
bool VllmV1::preempt_gang(const Sequence& victim, const Sequence& needy, std::size_t& index,
                          StepPlan& plan) {
  SequenceGroup& group = *victim.group;
  for (auto member = group.members.rbegin(); member != group.members.rend(); ++member) {
    Sequence& s = **member;
    if (&s != &victim) {
      const auto at = std::find(running_.begin(), running_.end(), &s);
      SIM_CHECK(at != running_.end());
      if (static_cast<std::size_t>(at - running_.begin()) < index) --index;
      running_.erase(at);
      unschedule(s, plan);
    }
    lose_kv(s, plan);
  }
  group.forked = false;
  followers_ += static_cast<std::int64_t>(group.members.size()) - 1;
  waiting_.push_preempted(group.members.front());
  return needy.group == &group;
}

// The last beam of a step has its token: who goes on? (After a fork all have one history.)
void VllmV1::after_tokens(const ScheduledSequence& entry, StepUpdate& update) {
  SequenceGroup& group = *entry.sequence->group;
  if (!group.beams || entry.forks || entry.sequence->finished()) return;
  if (entry.sequence == group.members.back()) choose_beams(group, update);
}

void VllmV1::choose_beams(SequenceGroup& group, StepUpdate& update) {
  const auto stays = [&](const Sequence* s) {
    return luck(seed_ ^ kGivenUp, *s) >= beam_switch_probability_;
  };
  staying_.clear();
  std::copy_if(group.members.begin(), group.members.end(), std::back_inserter(staying_), stays);
  if (staying_.empty()) staying_.push_back(group.members.front());  // somebody has to go on
  for (Sequence* beam : group.members) {
    if (stays(beam) || beam == staying_.front()) continue;
    const double u = luck(seed_ ^ kParent, *beam);
    const auto parent = static_cast<std::size_t>(u * static_cast<double>(staying_.size()));
    kv_.free(beam->slot);
    kv_.fork(staying_[parent]->slot, beam->slot);
    ++update.dropped_beams;
  }
}

// Members that have yet to fork hold nothing and stand in no queue.
void VllmV1::finish_followers(Sequence& leader, FinishReason reason) {
  if (followers_of(leader) == 0) return;
  for (Sequence* member : leader.group->members) {
    if (member == &leader || member->finished()) continue;
    finish(*member, reason);
    --followers_;
  }
}

void VllmV1::abort_group(SequenceGroup& group) {
  Sequence& leader = group.leader();
  if (leader.state == SequenceState::kRunning) seats_kept_ -= followers_of(leader);
  finish_followers(leader, FinishReason::kAborted);
  for (Sequence* member : group.members) {
    if (member->finished()) continue;
    leave_queue(*member);
    finish(*member, FinishReason::kAborted);
  }
}

}  // namespace headway
