#include "sim/replica/request_group.h"

#include <algorithm>
#include <utility>

namespace headway {

std::int32_t sequences_of(const Request& request) {
  return std::max({request.samples, request.beam_width, 1});
}

bool RequestGroup::end(RequestRecord& record, std::int32_t sample) {
  const bool first = ended_++ == 0;
  if (first) {
    sum_ = record;
    sum_.output_tokens = 0;
    sum_.preemptions = 0;
    sum_.failed = false;
  }
  sum_.scheduled = std::min(sum_.scheduled, record.scheduled);
  // A failed sequence's first token is its end.
  sum_.first_token = std::min(sum_.first_token, record.first_token);
  sum_.preemptions += record.preemptions;
  sum_.max_itl = std::max(sum_.max_itl, record.max_itl);
  if (!sequences.beams || sample == 0) {
    sum_.output_tokens += record.output_tokens;
  }
  if (sample == 0) sum_.cached_tokens = record.cached_tokens;
  if (record.failed && !sum_.failed) {
    sum_.failed = true;
    sum_.finish_reason = record.finish_reason;
  }
  if (ended_ < sequences.members.size()) return false;
  sum_.finish = record.finish;
  sum_.split = record.split;
  if (sum_.failed) sum_.first_token = record.finish;
  if (!sequences.beams) sum_.answers = static_cast<std::int32_t>(sequences.members.size());
  record = std::move(sum_);
  return true;
}

void SharingStats::sample(const KvUsage& kv) {
  const std::int64_t unshared = std::max(kv.table_blocks, kv.held_blocks);
  peak_blocks = std::max(peak_blocks, kv.held_blocks);
  peak_blocks_unshared = std::max(peak_blocks_unshared, unshared);
  held_block_steps += static_cast<double>(kv.held_blocks);
  unshared_block_steps += static_cast<double>(unshared);
}

void SharingStats::add(const SharingStats& other) {
  requests += other.requests;
  sequences += other.sequences;
  forks += other.forks;
  drops += other.drops;
  copied_blocks += other.copied_blocks;
  peak_blocks = std::max(peak_blocks, other.peak_blocks);
  peak_blocks_unshared = std::max(peak_blocks_unshared, other.peak_blocks_unshared);
  held_block_steps += other.held_block_steps;
  unshared_block_steps += other.unshared_block_steps;
}

double SharingStats::saving() const {
  return unshared_block_steps > 0 ? 1.0 - held_block_steps / unshared_block_steps : 0.0;
}

}  // namespace headway
