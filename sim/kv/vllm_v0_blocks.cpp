#include "sim/kv/vllm_v0_blocks.h"

#include <algorithm>

#include "sim/core/errors.h"
#include "sim/kv/block_hash.h"
#include "sim/kv/kv_store.h"

namespace headway {

VllmV0Blocks::VllmV0Blocks(const Options& options)
    : options_(options),
      gpu_(options.num_gpu_blocks, options.block_size, options.prefix_caching),
      cpu_(options.num_cpu_blocks, options.block_size, options.prefix_caching),
      rows_(static_cast<std::size_t>(options.block_size)) {}

void VllmV0Blocks::open(std::uint32_t slot, const Request& request) {
  if (slot >= tables_.size()) tables_.resize(slot + 1);
  SIM_CHECK(tables_[slot].ids.empty(), "slot still holds KV");
  tables_[slot] = {};
  tables_[slot].request = &request;
}

std::uint64_t VllmV0Blocks::hash(const Table& table, std::int32_t index) const {
  while (table.chain.size() <= static_cast<std::size_t>(index)) {
    const std::uint64_t previous = table.chain.empty() ? 0 : table.chain.back();
    const auto first = static_cast<std::int32_t>(table.chain.size()) * options_.block_size;
    table.chain.push_back(
        chain_block_hash(previous, block_content(*table.request, first, options_.block_size)));
  }
  return table.chain[static_cast<std::size_t>(index)];
}

VllmV0Blocks::Fit VllmV0Blocks::can_admit(std::int32_t tokens) const {
  const std::int64_t need = ceil_div(tokens, options_.block_size);
  if (options_.num_gpu_blocks - need < options_.watermark_blocks) return Fit::kNever;
  return gpu_.free_blocks() - need >= options_.watermark_blocks ? Fit::kNow : Fit::kLater;
}

void VllmV0Blocks::admit(std::uint32_t slot, std::int32_t tokens) {
  Table& table = tables_[slot];
  SIM_CHECK(table.ids.empty() && tokens > 0);
  const std::int32_t size = options_.block_size;
  for (std::int32_t i = 0; (i + 1) * size <= tokens; ++i) {
    const std::uint64_t content = options_.prefix_caching ? hash(table, i) : 0;
    table.ids.push_back(gpu_.take_full(content, (i + 1) * size));
  }
  if (tokens % size != 0) table.ids.push_back(gpu_.take());
  table.tokens = tokens;
  table.stored = 0;
}

void VllmV0Blocks::append(std::uint32_t slot, std::int32_t tokens) {
  Table& table = tables_[slot];
  const std::int32_t size = options_.block_size;
  while (table.tokens < tokens) {
    if (table.tokens % size == 0) table.ids.push_back(gpu_.take());
    const std::int32_t block_end = (table.tokens / size + 1) * size;
    table.tokens = std::min(tokens, block_end);
    if (table.tokens == block_end && options_.prefix_caching) {
      table.ids.back() = gpu_.fill(table.ids.back(), hash(table, block_end / size - 1), block_end);
    }
  }
}

std::int32_t VllmV0Blocks::cached_tokens(std::uint32_t slot, std::int32_t known_tokens) {
  if (!options_.prefix_caching) return 0;
  Table& table = tables_[slot];
  if (table.cached < 0) {
    const std::int32_t full = known_tokens / options_.block_size;
    if (full > 0) hash(table, full - 1);
    const auto chain = std::span(table.chain).first(static_cast<std::size_t>(full));
    table.cached = static_cast<std::int32_t>(gpu_.computed_prefix(chain)) * options_.block_size;
  }
  return table.cached;
}

void VllmV0Blocks::release_all(Table& table, VllmV0Allocator& from) {
  const std::size_t full = static_cast<std::size_t>(table.tokens / options_.block_size);
  for (std::size_t i = 0; i < table.ids.size(); ++i) from.release(table.ids[i], i < full);
}

void VllmV0Blocks::free(std::uint32_t slot) {
  Table& table = tables_[slot];
  if (table.ids.empty()) return;
  SIM_CHECK(table.gathered_at == kAlone);
  VllmV0Allocator& memory = table.on_cpu ? cpu_ : gpu_;
  if (table.last_use != SimTime::never()) memory.mark_accessed(table.ids, table.last_use.ns());
  release_all(table, memory);
  Table fresh;
  fresh.request = table.request;
  fresh.chain = std::move(table.chain);  // what a sequence said does not change
  table = std::move(fresh);
}

std::int64_t VllmV0Blocks::full_blocks_to_take(const Table& table,
                                               const VllmV0Allocator& to) const {
  const auto full = static_cast<std::int64_t>(table.tokens / options_.block_size);
  if (!options_.prefix_caching) return full;
  const auto chain = std::span(table.chain).first(static_cast<std::size_t>(full));
  return std::count_if(chain.begin(), chain.end(),
                       [&to](std::uint64_t content) { return to.would_take(content); });
}

// Both tests count one more block, for the token that is to be appended.
bool VllmV0Blocks::can_swap_out(std::uint32_t slot) const {
  return cpu_.free_blocks() >= full_blocks_to_take(tables_[slot], cpu_) + 1;
}

VllmV0Blocks::Fit VllmV0Blocks::can_swap_in(std::uint32_t slot) const {
  const std::int64_t need = full_blocks_to_take(tables_[slot], gpu_) + 1;
  if (options_.num_gpu_blocks < need) return Fit::kNever;
  if (gpu_.free_blocks() - need >= options_.watermark_blocks) return Fit::kNow;
  // vLLM would wait for ever where even the empty cache cannot leave the watermark.
  const bool empty = gpu_.free_blocks() == options_.num_gpu_blocks;
  return empty ? Fit::kNever : Fit::kLater;
}

void VllmV0Blocks::move(Table& table, VllmV0Allocator& from, VllmV0Allocator& to,
                        SwapPairs& pairs) {
  release_all(table, from);
  const std::size_t full = static_cast<std::size_t>(table.tokens / options_.block_size);
  for (std::size_t i = 0; i < table.ids.size(); ++i) {
    const std::int32_t begin = static_cast<std::int32_t>(i) * options_.block_size;
    const std::uint64_t content = i < full && options_.prefix_caching ? table.chain[i] : 0;
    const Id id = i < full ? to.take_full(content, begin + options_.block_size) : to.take();
    to.store_at_least(id, std::clamp(table.stored - begin, 0, options_.block_size));
    pairs.emplace_back(table.ids[i], id);
    table.ids[i] = id;
  }
}

void VllmV0Blocks::swap_out(std::uint32_t slot, SwapPairs& pairs) {
  move(tables_[slot], gpu_, cpu_, pairs);
  tables_[slot].on_cpu = true;
}

void VllmV0Blocks::swap_in(std::uint32_t slot, SwapPairs& pairs) {
  move(tables_[slot], cpu_, gpu_, pairs);
  tables_[slot].on_cpu = false;
}

void VllmV0Blocks::use(std::uint32_t slot, SimTime now, std::int32_t computed) {
  Table& table = tables_[slot];
  table.last_use = now;
  const std::int32_t size = options_.block_size;
  for (std::int32_t i = table.stored / size; i * size < computed; ++i) {
    gpu_.store_at_least(table.ids[static_cast<std::size_t>(i)],
                        std::min(computed - i * size, size));
  }
  table.stored = computed;
}

std::vector<VllmV0Blocks::Id> VllmV0Blocks::table(std::uint32_t slot) const {
  std::vector<Id> ids = tables_[slot].ids;
  if (tables_[slot].on_cpu) {
    for (Id& id : ids) id += static_cast<Id>(options_.num_gpu_blocks);
  }
  return ids;
}

void VllmV0Blocks::count_query(std::int64_t tokens, std::int64_t hit_tokens) {
  query_tokens_ += static_cast<std::uint64_t>(tokens);
  hit_tokens_ += static_cast<std::uint64_t>(hit_tokens);
}

KvUsage VllmV0Blocks::usage() const {
  return {.total_blocks = options_.num_gpu_blocks,
          .held_blocks = options_.num_gpu_blocks - gpu_.free_blocks(),
          .free_blocks = gpu_.free_blocks(),
          .cached_blocks = gpu_.cached_blocks(),
          .block_size = options_.block_size,
          .tokens_stored = gpu_.tokens_stored() + grown_,
          .prefix_queries = query_tokens_,
          .prefix_hits = hit_tokens_};
}

void VllmV0Blocks::check() const {
  gpu_.check();
  cpu_.check();
  for (const auto& [memory, on_cpu] : {std::pair{&gpu_, false}, std::pair{&cpu_, true}}) {
    std::vector<std::int32_t> refs(static_cast<std::size_t>(memory->total_blocks()), 0);
    for (const Table& table : tables_) {
      if (table.on_cpu != on_cpu) continue;
      const std::int32_t tokens = table.tokens + grown(table);
      SIM_CHECK(std::ssize(table.ids) == ceil_div(tokens, options_.block_size));
      SIM_CHECK(table.stored <= table.tokens);
      for (const Id id : table.ids) ++refs[static_cast<std::size_t>(id)];
    }
    for (std::size_t i = 0; i < refs.size(); ++i) {
      SIM_CHECK(refs[i] == memory->references(static_cast<Id>(i)),
                "INV-2: tables and reference counts differ");
    }
  }
}

}  // namespace headway
