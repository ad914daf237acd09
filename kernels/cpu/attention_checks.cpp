#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "kernels/cpu/checks.h"
#include "kernels/cpu/random_data.h"
#include "kernels/cpu/reference.h"

namespace headway::kernels::cpu {
namespace {

struct Piece {
  std::int32_t count, context;  // queries of one sequence, and tokens before them
};

// Sequences in pages that are handed out in a shuffled order, and the same tokens row by row.
struct Batch {
  KvLayout layout;
  std::vector<Bf16> keys, values;
  std::vector<std::vector<std::int32_t>> pages;
  std::vector<std::vector<float>> k, v;  // rounded as the pages hold them

  Batch(const CpuOps& ops, const KvLayout& l, const std::vector<Piece>& pieces) : layout(l) {
    std::int64_t total = 1;
    for (const Piece& p : pieces) total += (p.count + p.context + l.page - 1) / l.page;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(total));
    std::iota(ids.begin(), ids.end(), 0);
    for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[i * 7919 % i]);
    keys.assign(l.elements(total), 0);
    values.assign(l.elements(total), 0);
    NormalValues random(11);
    std::size_t next = 0;
    for (const Piece& p : pieces) {
      const std::int32_t tokens = p.count + p.context;
      std::vector<std::int32_t>& mine = pages.emplace_back();
      for (std::int32_t t = 0; t < tokens; t += l.page) mine.push_back(ids[next++]);
      std::vector<float>& key = k.emplace_back(static_cast<std::size_t>(tokens * row()));
      std::vector<float>& value = v.emplace_back(static_cast<std::size_t>(tokens * row()));
      random.fill(key);
      random.fill(value);
      std::vector<std::int64_t> slots;
      for (std::int32_t t = 0; t < tokens; ++t) {
        slots.push_back(std::int64_t{mine[static_cast<std::size_t>(t / l.page)]} * l.page +
                        t % l.page);
      }
      ops.kv_write(key.data(), value.data(), row(), slots.data(), tokens, cache());
      for (float& x : key) x = widen(narrow(x));
      for (float& x : value) x = widen(narrow(x));
    }
  }
  std::int64_t row() const { return std::int64_t{layout.kv_heads} * layout.head_dim; }
  KvCache cache() { return {layout, keys.data(), values.data()}; }
};

CheckResult check_batch(const CpuOps& ops, const std::string& what, const KvLayout& layout,
                        std::int32_t heads, const std::vector<Piece>& pieces) {
  Batch batch(ops, layout, pieces);
  const std::int64_t width = std::int64_t{heads} * layout.head_dim;
  const double scale = 1 / std::sqrt(static_cast<double>(layout.head_dim));
  std::vector<AttentionRows> rows;
  std::int32_t total = 0, longest = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    rows.push_back({total, pieces[i].count, pieces[i].context, batch.pages[i].data()});
    total += pieces[i].count;
    longest = std::max(longest, pieces[i].count + pieces[i].context);
  }
  std::vector<float> q(static_cast<std::size_t>(total * width)), out(q.size(), NAN);
  std::vector<float> scratch(attention_scratch(longest), NAN);
  NormalValues(12).fill(q);
  ops.attention(q.data(), batch.cache(), rows, {heads, width, width, static_cast<float>(scale)},
                out.data(), scratch.data());
  double error = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto first = static_cast<std::size_t>(rows[i].first_row * width);
    const auto count = static_cast<std::size_t>(pieces[i].count * width);
    const auto expected = reference::attention(std::span(q).subspan(first, count), batch.k[i],
                                               batch.v[i], pieces[i].count, pieces[i].context,
                                               heads, layout.kv_heads, layout.head_dim, scale);
    const double one = reference::relative_error(std::span(out).subspan(first, count), expected);
    if (!(one <= error)) error = one;
  }
  return {what, error, 4e-6};
}

}  // namespace

std::vector<CheckResult> check_attention(const CpuOps& ops, std::int32_t head_dim) {
  const KvLayout gqa{2, head_dim, 16}, mha{3, head_dim, 32}, wide{1, head_dim, 16};
  return {
      check_batch(ops, "prompts of 1, 16, 37 and 0 tokens, 3 heads a KV head", gqa, 6,
                  {{1, 0}, {16, 0}, {37, 0}, {0, 0}}),
      check_batch(ops, "chunks behind 1, 40 and 100 tokens, pages of 32", mha, 3,
                  {{20, 1}, {7, 40}, {33, 100}}),
      check_batch(ops, "decode of ragged lengths, 8 heads on one KV head", wide, 8,
                  {{1, 0}, {1, 15}, {1, 16}, {1, 17}, {1, 300}}),
      check_batch(ops, "prompt, chunk, decode and 4 drafts in one batch", gqa, 4,
                  {{18, 0}, {5, 27}, {1, 64}, {5, 33}}),
  };
}

std::vector<CheckResult> check_kv_write(const CpuOps& ops) {
  constexpr KvLayout kLayout{3, 16, 32};
  constexpr std::int64_t kPages = 4, kRow = 48, kRows = 5;
  std::vector<float> k(kRows * kRow), v(k.size());
  NormalValues random(13);
  random.fill(k);
  random.fill(v);
  std::vector<Bf16> keys(kLayout.elements(kPages), 0), values(keys.size(), 0);
  const std::vector<std::int64_t> slots{3 * 32 + 31, 0, 32 + 15, 32 + 16, 2 * 32 + 7};
  ops.kv_write(k.data(), v.data(), kRow, slots.data(), kRows,
               {kLayout, keys.data(), values.data()});
  double wrong = 0, written = 0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int64_t page = slots[static_cast<std::size_t>(row)] / 32;
    const std::int64_t token = slots[static_cast<std::size_t>(row)] % 32;
    for (std::int64_t head = 0; head < 3; ++head) {
      const std::int64_t tile = ((page * 3 + head) * 2 + token / 16) * 16 * 16;
      for (std::int64_t i = 0; i < 16; ++i) {
        const auto from = static_cast<std::size_t>(row * kRow + head * 16 + i);
        wrong += keys[static_cast<std::size_t>(tile + i * 16 + token % 16)] != narrow(k[from]);
        wrong += values[static_cast<std::size_t>(tile + token % 16 * 16 + i)] != narrow(v[from]);
      }
    }
  }
  for (std::size_t i = 0; i < keys.size(); ++i) written += (keys[i] != 0) + (values[i] != 0);
  return {{"5 tokens in 4 pages of 32: wrong elements", wrong, 0},
          {"elements touched beside them", written - 2.0 * kRows * kRow, 0}};
}

}  // namespace headway::kernels::cpu
