// Many decode steps of VllmV0Blocks at once.
#include <algorithm>
#include <unordered_set>

#include "sim/core/errors.h"
#include "sim/kv/vllm_v0_blocks.h"

namespace headway {

// Only a shared prefix, a session, recorded tokens or another sample of the request can make
// another sequence say what this one does. Its own earlier life never said more than it has now.
bool VllmV0Blocks::answer_is_its_own(std::uint32_t slot) const {
  const Table& table = tables_[slot];
  const Request& r = *table.request;
  const bool in_group = r.prefix_group >= 0 && table.tokens < r.prefix_tokens;
  return table.tokens >= r.prompt_tokens && !in_group && r.session_id < 0 && r.output_ids.empty() &&
         r.samples <= 1 && r.beam_width <= 1;
}

std::int64_t VllmV0Blocks::steps_of_new_content(std::span<const std::uint32_t> slots,
                                                std::int64_t steps) const {
  constexpr std::int64_t kBlocksAhead = 8;
  if (!options_.prefix_caching) return steps;
  std::unordered_set<std::uint64_t> to_come;
  for (const std::uint32_t slot : slots) {
    if (answer_is_its_own(slot)) continue;
    const Table& table = tables_[slot];
    const std::int64_t size = options_.block_size;
    const std::int64_t first = table.tokens / size;
    // A block becomes full in the step whose token is its last.
    for (std::int64_t i = first; i < first + kBlocksAhead; ++i) {
      const std::int64_t step = (i + 1) * size - table.tokens;
      if (step > steps) break;
      const std::uint64_t content = hash(table, static_cast<std::int32_t>(i));
      if (!gpu_.is_cached(content) && to_come.insert(content).second) continue;
      steps = step - 1;
      break;
    }
    steps = std::min(steps, (first + kBlocksAhead + 1) * size - 1 - table.tokens);
  }
  return steps;
}

void VllmV0Blocks::extend(std::span<const std::uint32_t> slots, std::int64_t steps) {
  take_in_turn(slots, steps);
  for (const std::uint32_t slot : slots) {
    Table& table = tables_[slot];
    const std::int32_t size = options_.block_size;
    const std::int32_t full = table.tokens / size;
    table.tokens += static_cast<std::int32_t>(steps);
    for (std::int32_t i = full; options_.prefix_caching && i < table.tokens / size; ++i) {
      const Id id = table.ids[static_cast<std::size_t>(i)];
      SIM_CHECK(gpu_.fill(id, hash(table, i), (i + 1) * size) == id,
                "a decode meets a cached block");
    }
    use(slot, table.last_use, table.stored + static_cast<std::int32_t>(steps));
  }
  end_of_plan();
}

// Ids go out step by step, within a step in the order of slots.
void VllmV0Blocks::take_in_turn(std::span<const std::uint32_t> slots, std::int64_t steps) {
  const std::int64_t size = options_.block_size;
  turns_.clear();
  for (const std::uint32_t slot : slots) {
    const Table& table = tables_[slot];
    const std::int64_t room = std::ssize(table.ids) * size - table.tokens;
    SIM_CHECK(!table.on_cpu && room >= 0 && room < size);
    if (room < steps) turns_.emplace_back(room, slot);
  }
  std::stable_sort(turns_.begin(), turns_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::int64_t before = 0; before < steps; before += size) {
    for (const auto& [room, slot] : turns_) {
      if (before + room >= steps) break;
      tables_[slot].ids.push_back(gpu_.take());
    }
  }
}

}  // namespace headway
