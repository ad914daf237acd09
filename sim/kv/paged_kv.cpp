#include "sim/kv/paged_kv.h"

#include <algorithm>

#include "sim/core/errors.h"
#include "sim/kv/block_hash.h"

namespace headway {

PagedKv::PagedKv(const PagedKvOptions& options)
    : options_(options),
      pool_(options.num_blocks, options.counts_only),
      host_(options.host_blocks) {
  SIM_CHECK(!host_.on() || (options.prefix_caching && options.layout.plain()));
  SIM_CHECK(options.block_size > 0 && !(options.counts_only && options.prefix_caching));
  rows_.resize(static_cast<std::size_t>(options.block_size));
  row_sizes_.resize(rows_.size());
  next_row_ = row_of(1);
  if (options.layout.plain()) return;
  if (options_.layout.recurrent) options_.prefix_caching = false;
  groups_ = std::make_unique<GroupTables>(options_, pool_);
}

void PagedKv::open(std::uint32_t slot, const Request& request, std::int32_t sample) {
  if (groups_) return groups_->open(slot, request, sample);
  if (slot >= tables_.size()) tables_.resize(slot + 1);
  Table& table = tables_[slot];
  SIM_CHECK(table.num_blocks == 0);
  table.request = &request;
  table.sample = sample;
  table.chain.clear();
}

void PagedKv::close(std::uint32_t slot) {
  if (groups_) return groups_->close(slot);
  SIM_CHECK(tables_[slot].num_blocks == 0);
  tables_[slot].request = nullptr;
}

PrefixHit PagedKv::lookup(std::uint32_t slot, std::int32_t known_tokens) {
  if (!options_.prefix_caching) return {};
  if (groups_) return {.tokens = groups_->lookup(slot, known_tokens), .blocks = {}};
  Table& table = tables_[slot];
  SIM_CHECK(table.blocks.empty());
  hits_.clear();
  const std::int32_t longest = (known_tokens - 1) / options_.block_size;
  for (std::int32_t i = 0; i < longest; ++i) {
    const BlockId block = pool_.find(block_hash(table, i));
    if (block == 0) break;
    hits_.push_back(block);
  }
  auto in_host = static_cast<std::int32_t>(hits_.size());
  if (host_.on()) {
    while (in_host < longest && host_.holds(block_hash(table, in_host))) ++in_host;
  }
  if (options_.drop_last_hit && in_host > 0) {
    if (in_host-- == std::ssize(hits_)) hits_.pop_back();
  }
  const std::int32_t tokens = static_cast<std::int32_t>(hits_.size()) * options_.block_size;
  return {tokens, hits_, in_host * options_.block_size - tokens};
}

void PagedKv::use_host_blocks(std::uint32_t slot, const PrefixHit& hit) {
  if (!host_.on()) return;
  for (std::int32_t i = hit.all_tokens() / options_.block_size; i-- > 0;) {
    host_.put(block_hash(tables_[slot], i));
  }
}

std::int64_t PagedKv::blocks_needed(const Table& table, const KvDemand& d,
                                    const PrefixHit& hit) const {
  const std::int64_t end =
      std::min(d.computed + d.num_tokens + d.lookahead, options_.max_model_len);
  const std::int64_t had = table.num_blocks + std::ssize(hit.blocks);
  std::int64_t needed = std::max<std::int64_t>(0, blocks_for(end) - had);
  // Hits that nobody holds are taken out of the free queue as well.
  for (const BlockId block : hit.blocks) needed += pool_.references(block) == 0 ? 1 : 0;
  return needed;
}

bool PagedKv::fits(std::uint32_t slot, const KvDemand& demand, const PrefixHit& hit) const {
  if (groups_) return groups_->fits(slot, demand, hit.tokens);
  return blocks_needed(tables_[slot], demand, hit) <= pool_.free_blocks();
}

bool PagedKv::allocate(std::uint32_t slot, const KvDemand& demand, const PrefixHit& hit) {
  if (groups_) [[unlikely]] return groups_->allocate(slot, demand, hit.tokens);
  Table& table = tables_[slot];
  SIM_CHECK(table.gathered_at == kAlone);
  const std::int32_t end = demand.computed + demand.num_tokens;
  const bool short_of_slots =
      std::min(end + demand.lookahead, options_.max_model_len) > table.capacity;
  if (table.forked_tail && !own_tail(table, blocks_needed(table, demand, hit))) return false;
  if (short_of_slots && !grow(table, demand, hit)) return false;
  store(table, end);
  if (options_.prefix_caching) hash_blocks(table, std::min(end, demand.known));
  return true;
}

bool PagedKv::grow(Table& table, const KvDemand& demand, const PrefixHit& hit) {
  std::int64_t needed = blocks_needed(table, demand, hit);
  if (needed > pool_.free_blocks()) return false;
  if (table.num_blocks == 0) ++holders_;
  const std::int64_t had = table.num_blocks;
  for (const BlockId block : hit.blocks) {
    if (pool_.references(block) == 0) {
      tokens_stored_ += options_.block_size;
      --needed;
    }
    pool_.touch(block);
    table.blocks.push_back(block);
  }
  if (!hit.blocks.empty()) {
    table.stored = hit.tokens;
    table.hashed_blocks = static_cast<std::int32_t>(hit.blocks.size());
  }
  if (options_.counts_only) {
    pool_.take(needed);
    table.num_blocks += needed;
  } else {
    for (; needed > 0; --needed) table.blocks.push_back(pool_.take());
    table.num_blocks = std::ssize(table.blocks);
  }
  table.capacity = static_cast<std::int32_t>(table.num_blocks) * options_.block_size;
  table_blocks_ += table.num_blocks - had;
  return true;
}

void PagedKv::name_blocks() {
  if (!options_.counts_only || groups_) return;
  options_.counts_only = false;
  pool_ = BlockPool(options_.num_blocks);
  for (Table& table : tables_) {
    if (table.gathered_at != kAlone) table.num_blocks = blocks_for(stored_in(table));
    for (std::int64_t i = 0; i < table.num_blocks; ++i) table.blocks.push_back(pool_.take());
  }
}

void PagedKv::fork(std::uint32_t from, std::uint32_t to) {
  SIM_CHECK(!groups_, "tables of several groups are not forked");
  const Table& parent = tables_[from];
  Table& child = tables_[to];
  SIM_CHECK(!options_.counts_only && parent.gathered_at == kAlone);
  SIM_CHECK(child.blocks.empty() && parent.stored > 0 && child.request == parent.request);
  const auto shared = static_cast<std::ptrdiff_t>(blocks_for(parent.stored));
  child.blocks.assign(parent.blocks.begin(), parent.blocks.begin() + shared);
  for (const BlockId block : child.blocks) pool_.touch(block);
  child.num_blocks = shared;
  child.stored = parent.stored;
  child.capacity = static_cast<std::int32_t>(shared) * options_.block_size;
  const std::int32_t full = parent.stored / options_.block_size;
  child.hashed_blocks = std::min(parent.hashed_blocks, full);
  const auto named = std::min(parent.chain.size(), static_cast<std::size_t>(full));
  child.chain.assign(parent.chain.begin(),
                     parent.chain.begin() + static_cast<std::ptrdiff_t>(named));
  child.forked_tail = parent.stored % options_.block_size != 0;
  tables_[from].forked_tail = child.forked_tail;
  ++holders_;
  table_blocks_ += shared;
}

// Before the table's next token is stored: copies the block that takes it where that is still
// another table's as well. (The last one to write into it keeps it.) `growth`: blocks that must be
// free besides. False, and nothing changed, where there are too few.
bool PagedKv::own_tail(Table& table, std::int64_t growth) {
  const auto tail = static_cast<std::size_t>(table.stored / options_.block_size);
  const bool copies =
      table.stored % options_.block_size != 0 && pool_.references(table.blocks[tail]) > 1;
  if (growth + (copies ? 1 : 0) > pool_.free_blocks()) return false;
  table.forked_tail = false;
  if (!copies) return true;
  tokens_stored_ += tokens_in(table, tail);
  pool_.release(table.blocks[tail]);
  table.blocks[tail] = pool_.take();
  ++copied_blocks_;
  return true;
}

void PagedKv::store(Table& table, std::int32_t end) {
  tokens_stored_ += end - table.stored;
  table.stored = end;
}

void PagedKv::roll_back(std::uint32_t slot, std::int32_t tokens) {
  if (groups_) return groups_->roll_back(slot, tokens);
  store(tables_[slot], tables_[slot].stored - tokens);
}

void PagedKv::cache_blocks(std::uint32_t slot, std::int32_t tokens) {
  if (!options_.prefix_caching) return;
  if (groups_) return groups_->cache_blocks(slot, tokens);
  hash_blocks(tables_[slot], tokens);
}

void PagedKv::hash_blocks(Table& table, std::int32_t tokens) {
  while ((table.hashed_blocks + 1) * options_.block_size <= tokens) {
    const std::int32_t index = table.hashed_blocks++;
    const std::uint64_t hash = block_hash(table, index);
    pool_.set_hash(table.blocks[static_cast<std::size_t>(index)], hash);
    if (host_.on()) host_.put(hash);
  }
}

std::uint64_t PagedKv::block_hash(Table& table, std::int32_t index) {
  auto& chain = table.chain;
  while (chain.size() <= static_cast<std::size_t>(index)) {
    const auto first = static_cast<std::int32_t>(chain.size()) * options_.block_size;
    chain.push_back(
        chain_block_hash(chain.empty() ? 0 : chain.back(),
                         block_content(*table.request, table.sample, first, options_.block_size)));
  }
  return chain[static_cast<std::size_t>(index)];
}

std::int64_t PagedKv::tokens_in(const Table& table, std::size_t index) const {
  const std::int64_t before = static_cast<std::int64_t>(index) * options_.block_size;
  return std::clamp<std::int64_t>(stored_in(table) - before, 0, options_.block_size);
}

void PagedKv::free(std::uint32_t slot) {
  if (groups_) return groups_->free(slot);
  Table& table = tables_[slot];
  SIM_CHECK(table.gathered_at == kAlone);
  if (table.num_blocks == 0) return;
  if (options_.counts_only) {
    pool_.give_back(table.num_blocks);
    tokens_stored_ -= table.stored;
  }
  for (std::size_t i = table.blocks.size(); i-- > 0;) {
    if (pool_.release(table.blocks[i])) tokens_stored_ -= tokens_in(table, i);
  }
  table_blocks_ -= table.num_blocks;
  table.num_blocks = 0;
  table.blocks.clear();
  table.forked_tail = false;
  table.capacity = table.stored = table.hashed_blocks = 0;
  --holders_;
}

std::int32_t PagedKv::common_prefix_blocks(std::uint32_t slot) const {
  std::int32_t common = 0;
  if (!options_.prefix_caching || groups_) return common;
  for (const BlockId block : tables_[slot].blocks) {
    if (pool_.references(block) != holders_) break;
    ++common;
  }
  return common;
}

KvUsage PagedKv::usage() const {
  KvUsage usage;
  usage.total_blocks = pool_.usable_blocks();
  usage.free_blocks = pool_.free_blocks();
  usage.held_blocks = usage.total_blocks - usage.free_blocks;
  usage.cached_blocks = pool_.cached_blocks();
  usage.block_size = options_.block_size;
  usage.table_blocks = table_blocks_;
  usage.tokens_stored = tokens_stored_;
  usage.prefix_queries = query_tokens_;
  usage.prefix_hits = hit_tokens_;
  usage.host_hits = host_hit_tokens_;
  if (groups_) groups_->add_to(usage);
  return usage;
}

void PagedKv::count_query(std::int64_t tokens, std::int64_t hit_tokens, std::int64_t host_tokens) {
  host_hit_tokens_ += static_cast<std::uint64_t>(host_tokens);
  query_tokens_ += static_cast<std::uint64_t>(tokens);
  hit_tokens_ += static_cast<std::uint64_t>(hit_tokens);
}

void PagedKv::check() const {
  if (groups_) return groups_->check();
  std::int64_t entries = 0, counted_tokens = 0;
  for (const Table& table : tables_) {
    entries += table.num_blocks;
    counted_tokens += stored_in(table);
  }
  if (options_.counts_only) {  // gathered tables' own counts stand still
    SIM_CHECK(counted_tokens == tokens_stored_);
    for (const Table& table : tables_) {
      if (table.gathered_at != kAlone) entries += blocks_for(stored_in(table)) - table.num_blocks;
    }
    SIM_CHECK(entries == table_blocks_);
    SIM_CHECK(entries + pool_.free_blocks() == pool_.usable_blocks());
    return;
  }
  pool_.check();
  const auto n = static_cast<std::size_t>(options_.num_blocks);
  std::vector<std::int32_t> references(n, 0);
  std::vector<std::int64_t> stored(n, 0);
  for (const Table& table : tables_) {
    SIM_CHECK(table.num_blocks == std::ssize(table.blocks));
    for (std::size_t i = 0; i < table.blocks.size(); ++i) {
      const auto block = static_cast<std::size_t>(table.blocks[i]);
      ++references[block];
      stored[block] = std::max(stored[block], tokens_in(table, i));
    }
  }
  SIM_CHECK(entries == table_blocks_);
  std::int64_t held = 0;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < n; ++i) {
    SIM_CHECK(references[i] == pool_.references(static_cast<BlockId>(i)));
    held += references[i] > 0 ? 1 : 0;
    tokens += stored[i];
  }
  SIM_CHECK(held + pool_.free_blocks() == pool_.usable_blocks());
  SIM_CHECK(tokens == tokens_stored_);
}

}  // namespace headway
