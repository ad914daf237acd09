#include "sim/kv/group_tables.h"

#include <algorithm>

#include "sim/core/errors.h"
#include "sim/core/hash.h"
#include "sim/kv/block_hash.h"
#include "sim/kv/group_growth.h"
#include "sim/kv/paged_kv.h"

namespace headway {

GroupTables::GroupTables(const PagedKvOptions& options, BlockPool& pool)
    : options_(options), layout_(options.layout), pool_(pool), hits_(layout_.groups.size()) {
  SIM_CHECK(!layout_.plain() && !(options.prefix_caching && layout_.recurrent));
  for (const KvGroup& group : layout_.groups) {
    SIM_CHECK(group.block_size > 0 && layout_.period() % group.block_size == 0);
  }
}

void GroupTables::open(std::uint32_t slot, const Request& request, std::int32_t sample) {
  if (slot >= tables_.size()) tables_.resize(slot + 1);
  Table& table = tables_[slot];
  SIM_CHECK(table.held == 0);
  table = Table();
  table.parts.resize(layout_.groups.size());
  table.request = &request;
  table.sample = sample;
}

void GroupTables::close(std::uint32_t slot) {
  SIM_CHECK(tables_[slot].held == 0);
  tables_[slot].request = nullptr;
}

bool GroupTables::counts_only() const { return options_.counts_only; }

std::int64_t GroupTables::reach(const KvDemand& d) const {
  return std::min(d.computed + d.num_tokens + d.lookahead, options_.max_model_len);
}

std::int64_t GroupTables::needed(const Table& table, const KvDemand& d,
                                 std::int32_t hit_tokens) const {
  std::int64_t blocks = 0;
  const std::int64_t end = reach(d);
  for (std::size_t g = 0; g < table.parts.size(); ++g) {
    const KvGroup& group = layout_.groups[g];
    std::int64_t had = std::max(table.parts[g].size, group.skipped(d.computed));
    if (hit_tokens > 0) had = std::max<std::int64_t>(had, std::ssize(hits_[g]));
    blocks += std::max<std::int64_t>(0, group.reach(end) - had);
    if (hit_tokens == 0) continue;
    // Hits that nobody holds are taken out of the free queue as well.
    for (const BlockId block : hits_[g]) blocks += block != 0 && pool_.references(block) == 0;
  }
  return blocks;
}

bool GroupTables::fits(std::uint32_t slot, const KvDemand& demand, std::int32_t hit_tokens) const {
  return needed(tables_[slot], demand, hit_tokens) <= pool_.free_blocks();
}

bool GroupTables::allocate(std::uint32_t slot, const KvDemand& demand, std::int32_t hit_tokens) {
  Table& table = tables_[slot];
  skip(table, demand.computed);
  if (needed(table, demand, hit_tokens) > pool_.free_blocks()) return false;
  if (hit_tokens > 0) take_hits(table, hit_tokens);
  take(table, reach(demand));
  const std::int32_t end = demand.computed + demand.num_tokens;
  store(table, end);
  if (options_.prefix_caching) hash(table, std::min(end, demand.known));
  return true;
}

void GroupTables::skip(Table& table, std::int64_t computed) {
  for (std::size_t g = 0; g < table.parts.size(); ++g) {
    Part& part = table.parts[g];
    const std::int64_t skipped = std::min(layout_.groups[g].skipped(computed), part.size);
    if (skipped <= part.skipped) continue;
    const std::int64_t freed = skipped - part.skipped;
    if (options_.counts_only) {
      pool_.give_back(freed);
    } else {
      // The last one first, as when a table is freed.
      for (std::int64_t i = skipped; i-- > part.skipped;) {
        BlockId& block = part.blocks[static_cast<std::size_t>(i)];
        pool_.release(block);
        block = 0;
      }
    }
    part.skipped = skipped;
    table.held -= freed;
    blocks_ -= freed;
  }
}

void GroupTables::take_hits(Table& table, std::int32_t hit_tokens) {
  for (std::size_t g = 0; g < table.parts.size(); ++g) {
    Part& part = table.parts[g];
    SIM_CHECK(part.size == 0);
    part.blocks = hits_[g];
    part.size = std::ssize(part.blocks);
    part.skipped = std::count(part.blocks.begin(), part.blocks.end(), 0);
    part.hashed = static_cast<std::int32_t>(part.size);
    for (const BlockId block : part.blocks) {
      if (block != 0) pool_.touch(block);
    }
    table.held += part.size - part.skipped;
    blocks_ += part.size - part.skipped;
  }
  store(table, hit_tokens);
}

void GroupTables::take(Table& table, std::int64_t end) {
  for (std::size_t g = 0; g < table.parts.size(); ++g) {
    Part& part = table.parts[g];
    const std::int64_t missing = layout_.groups[g].reach(end) - part.size;
    if (missing <= 0) continue;
    if (options_.counts_only) {
      pool_.take(missing);
    } else {
      for (std::int64_t i = 0; i < missing; ++i) part.blocks.push_back(pool_.take());
    }
    part.size += missing;
    table.held += missing;
    blocks_ += missing;
  }
}

void GroupTables::store(Table& table, std::int32_t end) {
  tokens_ += end - table.stored;
  table.stored = end;
}

void GroupTables::roll_back(std::uint32_t slot, std::int32_t tokens) {
  store(tables_[slot], tables_[slot].stored - tokens);
}

void GroupTables::cache_blocks(std::uint32_t slot, std::int32_t tokens) {
  if (options_.prefix_caching) hash(tables_[slot], tokens);
}

void GroupTables::hash(Table& table, std::int32_t tokens) {
  for (std::size_t g = 0; g < table.parts.size(); ++g) {
    Part& part = table.parts[g];
    while ((part.hashed + 1) * layout_.groups[g].block_size <= tokens) {
      const std::int32_t index = part.hashed++;
      const BlockId block = part.blocks[static_cast<std::size_t>(index)];
      if (block != 0) pool_.set_hash(block, key(table, g, index));  // else it was skipped before
    }
  }
}

// A block is named by all tokens up to its end, and by its group.
std::uint64_t GroupTables::key(Table& table, std::size_t group, std::int64_t index) {
  const std::int64_t ratio = layout_.groups[group].block_size / layout_.block_size;
  const auto last = static_cast<std::size_t>((index + 1) * ratio - 1);
  auto& chain = table.chain;
  while (chain.size() <= last) {
    const auto first = static_cast<std::int32_t>(chain.size()) * layout_.block_size;
    chain.push_back(chain_block_hash(
        chain.empty() ? 0 : chain.back(),
        block_content(*table.request, table.sample, first, layout_.block_size)));
  }
  return combine64(chain[last], group);
}

BlockId GroupTables::cached(Table& table, std::size_t group, std::int64_t index) {
  return pool_.find(key(table, group, index));
}

std::int32_t GroupTables::full_hit(Table& table, std::size_t group, std::int32_t tokens) {
  const std::int32_t size = layout_.groups[group].block_size;
  std::int32_t found = 0;
  while ((found + 1) * size <= tokens && cached(table, group, found) != 0) ++found;
  return found * size;
}

// Blocks that a hit must have of a windowed group; with a drafter that reads hidden states more,
// since the last ones are dropped.
std::int64_t GroupTables::window_blocks(const KvGroup& group) const {
  const std::int64_t blocks = (group.window - 1 + group.block_size - 1) / group.block_size;
  return blocks + (options_.drop_last_hit ? layout_.period() / group.block_size : 0);
}

// The longest multiple of the period up to `tokens` before which the window is cached.
std::int32_t GroupTables::window_hit(Table& table, std::size_t group, std::int32_t tokens) {
  const std::int32_t size = layout_.groups[group].block_size;
  const std::int64_t wanted = window_blocks(layout_.groups[group]);
  std::int32_t end = tokens / layout_.period() * layout_.period();
  std::int64_t run = 0;
  for (std::int64_t i = end / size; i-- > 0;) {
    if (run == wanted) break;
    if (cached(table, group, i) != 0) {
      ++run;
      continue;
    }
    end = static_cast<std::int32_t>(i) * size / layout_.period() * layout_.period();
    run = 0;
    i = end / size;  // blocks between the two were not looked at as part of a window
  }
  return end;
}

std::int32_t GroupTables::lookup(std::uint32_t slot, std::int32_t known_tokens) {
  for (auto& hits : hits_) hits.clear();
  if (!options_.prefix_caching) return 0;
  Table& table = tables_[slot];
  SIM_CHECK(table.held == 0);
  const std::int32_t period = layout_.period();
  std::int32_t tokens = (known_tokens - 1) / period * period;
  for (bool agreed = false; !agreed && tokens > 0;) {
    agreed = true;
    for (std::size_t g = 0; g < layout_.groups.size(); ++g) {
      const bool windowed = layout_.groups[g].kind == KvKind::kWindow;
      const std::int32_t hit =
          windowed ? window_hit(table, g, tokens) : full_hit(table, g, tokens) / period * period;
      agreed = agreed && hit == tokens;
      tokens = hit;
    }
  }
  if (options_.drop_last_hit && tokens > 0) tokens -= period;
  for (std::size_t g = 0; g < layout_.groups.size() && tokens > 0; ++g) {
    const KvGroup& group = layout_.groups[g];
    const std::int64_t skipped = group.skipped(tokens);
    for (std::int64_t i = 0; i < tokens / group.block_size; ++i) {
      hits_[g].push_back(i < skipped ? 0 : cached(table, g, i));
      SIM_CHECK(i < skipped || hits_[g].back() != 0, "a block of a hit is not cached");
    }
  }
  return tokens;
}

void GroupTables::free(std::uint32_t slot) {
  Table& table = tables_[slot];
  for (Part& part : table.parts) {
    if (options_.counts_only) pool_.give_back(part.size - part.skipped);
    for (std::size_t i = part.blocks.size(); i-- > 0;) {
      if (part.blocks[i] != 0) pool_.release(part.blocks[i]);
    }
    part.blocks.clear();
    part.size = part.skipped = part.hashed = 0;
  }
  blocks_ -= table.held;
  table.held = 0;
  store(table, 0);
}

bool GroupTables::shared(const Part& part) const {
  if (!options_.prefix_caching) return false;
  return std::any_of(part.blocks.begin() + part.skipped, part.blocks.end(),
                     [&](BlockId block) { return pool_.references(block) > 1; });
}

std::int64_t GroupTables::growth(std::span<const std::uint32_t> slots, std::int64_t steps,
                                 std::vector<std::int32_t>& change) const {
  GroupGrowth growth(layout_, steps);
  for (const std::uint32_t slot : slots) {
    const Table& table = tables_[slot];
    for (std::size_t g = 0; g < table.parts.size(); ++g) {
      const Part& part = table.parts[g];
      growth.add(layout_.groups[g], table.stored, part.size, part.skipped, shared(part));
    }
  }
  return growth.finish(pool_.free_blocks(), change);
}

void GroupTables::grow(std::uint32_t slot, std::int64_t steps) {
  SIM_CHECK(options_.counts_only);
  Table& table = tables_[slot];
  const std::int64_t end = table.stored + steps;
  for (std::size_t g = 0; g < table.parts.size(); ++g) {
    const KvGroup& group = layout_.groups[g];
    Part& part = table.parts[g];
    const std::int64_t had = part.size - part.skipped;
    part.size = std::max(part.size, group.reach(end));
    part.skipped = std::max(part.skipped, std::min(group.skipped(end - 1), part.size));
    const std::int64_t more = part.size - part.skipped - had;
    pool_.take(more);  // fewer than none where a window slides
    table.held += more;
    blocks_ += more;
  }
  store(table, static_cast<std::int32_t>(end));
}

void GroupTables::add_to(KvUsage& usage) const {
  usage.block_size = 0;
  usage.table_blocks = blocks_;
  usage.tokens_stored = tokens_;
}

void GroupTables::check() const {
  std::vector<std::int32_t> references;
  if (!options_.counts_only) {
    pool_.check();
    references.resize(static_cast<std::size_t>(options_.num_blocks), 0);
  }
  std::int64_t blocks = 0, tokens = 0;
  for (const Table& table : tables_) {
    std::int64_t held = 0;
    for (std::size_t g = 0; g < table.parts.size(); ++g) {
      const Part& part = table.parts[g];
      SIM_CHECK(part.skipped >= 0 && part.skipped <= part.size);
      held += part.size - part.skipped;
      if (options_.counts_only) continue;
      SIM_CHECK(part.size == std::ssize(part.blocks));
      for (std::int64_t i = 0; i < part.size; ++i) {
        const BlockId block = part.blocks[static_cast<std::size_t>(i)];
        SIM_CHECK((block == 0) == (i < part.skipped), "null blocks stand where a window has left");
        if (block != 0) ++references[static_cast<std::size_t>(block)];
      }
    }
    SIM_CHECK(held == table.held && (held > 0 || table.stored == 0));
    blocks += held;
    tokens += table.stored;
  }
  SIM_CHECK(blocks == blocks_ && tokens == tokens_);
  if (options_.counts_only) {
    SIM_CHECK(blocks + pool_.free_blocks() == pool_.usable_blocks(), "INV-2");
    return;
  }
  std::int64_t held = 0;
  for (std::size_t i = 0; i < references.size(); ++i) {
    SIM_CHECK(references[i] == pool_.references(static_cast<BlockId>(i)), "INV-2");
    held += references[i] > 0 ? 1 : 0;
  }
  SIM_CHECK(held + pool_.free_blocks() == pool_.usable_blocks(), "INV-2");
}

}  // namespace headway
