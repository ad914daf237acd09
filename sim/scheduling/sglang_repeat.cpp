// When a decode step of SGLang repeats, and many repeats at once.
#include <algorithm>
#include <limits>

#include "sim/scheduling/decode_blocks.h"
#include "sim/scheduling/sglang.h"

namespace headway {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

}  // namespace

// The running batch decodes again while nobody is looked at for admission: the flag that stops it
// stays up until the batch shrinks. Where it is not up although some wait (a mixed step had no
// tokens left for a prompt), every turn sorts the queue and tries anew, which leaves traces in the
// tree: no promise. Nor while a prompt is cut, which is put into the tree at every turn.
void Sglang::repeats(const StepPlan& plan, Repeats& out) const {
  out.clear();
  const std::vector<SglangBatch::Member>& members = running_.members;
  if (plan.empty() || plan.batch() != std::ssize(members) || !last_.empty() || cut_ != nullptr) {
    return;
  }
  if (!plan.preempted.empty() || !plan.rejected.empty() || !refused_.empty()) return;
  if ((!waiting_.empty() && !running_.full) || !received_.empty()) return;
  out.new_blocks.assign(static_cast<std::size_t>(pool_.page_size()), 0);  // pages, so far
  if (!decodes_.empty()) {
    const bool all = plan.scheduled.empty() && decodes_.size() == std::ssize(members);
    if (!all || !decodes_.steady()) return;
    out.steps = decodes_.next_finish() - decodes_.planned();
    pool_.pages_ahead(out.new_blocks);
    limit_by_pages(out, decodes_.size());
    return;
  }
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const ScheduledSequence& entry = plan.scheduled[i];
    const Sequence& s = *entry.sequence;
    // Part of all steps in flight: its tokens but for those that they sample are known, and all but
    // the last computed.
    const bool steady = entry.sequence == members[i].sequence && s.placeholders == in_flight_ &&
                        s.computed_tokens == s.known_tokens() + in_flight_ - 1;
    if (!steady || entry.prefill || entry.num_tokens != 1 || !entry.samples) return;
    ++out.new_blocks[static_cast<std::size_t>(pool_.slack(s.slot))];
    steps = std::min<std::int64_t>(steps, longest_output(s) - s.output_tokens - 1);
  }
  out.steps = steps;
  limit_by_pages(out, std::ssize(members));
}

void Sglang::limit_by_pages(Repeats& out, std::int64_t batch) const {
  if (out.steps <= 0) {
    out.steps = 0;
    return;
  }
  const std::int64_t free = pool_.available_tokens() + pool_.evictable_tokens();
  limit_by_blocks(out, batch, free / pool_.page_size());
  pages_to_blocks(out, free);
}

// From pages that the sequences take to blocks as kv_usage() counts them: those begun. Of the two
// sizes one divides the other; the pattern repeats with the larger one.
void Sglang::pages_to_blocks(Repeats& out, std::int64_t free_tokens) const {
  if (block_a_sequence_) {
    out.new_blocks.clear();
    return;
  }
  const auto page = static_cast<std::size_t>(pool_.page_size());
  const std::size_t period = std::max(page, static_cast<std::size_t>(block_size_));
  for (std::size_t i = page; i < period; ++i) {
    const std::int32_t pages = out.new_blocks[i - page];
    out.new_blocks.push_back(pages);
  }
  for (std::int32_t& taken : out.new_blocks) {
    // May fall below nothing behind the last step promised.
    const std::int64_t left = free_tokens - std::int64_t{taken} * pool_.page_size();
    taken = static_cast<std::int32_t>(floor_div(free_tokens, block_size_) -
                                      floor_div(left, block_size_));
    free_tokens = left;
  }
}

void Sglang::repeat(const StepPlan& plan, std::int64_t steps) {
  if (!decodes_.empty()) {
    pool_.repeat(steps);
    decodes_.repeat(steps);
  } else {
    const auto n = static_cast<std::int32_t>(steps);
    slots_.clear();
    for (const ScheduledSequence& entry : plan.scheduled) {
      Sequence& s = *entry.sequence;
      s.output_tokens += n;
      s.computed_tokens += n;
      slots_.push_back(s.slot);
    }
    pool_.decode(slots_, steps);
  }
  // As many subtractions, for the last bit; it comes to rest after kRatioDecaySteps.
  for (std::int64_t i = 0; i < steps && ratio_ != min_ratio_; ++i) {
    ratio_ = std::max(ratio_ - ratio_decay_, min_ratio_);
  }
}

}  // namespace headway
