#include "sim/scheduling/sglang_policy.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

constexpr std::size_t kLongestLpmQueue = 128;
constexpr std::int32_t kInBatchCheckTokens = 32;
constexpr std::int32_t kInBatchShareTokens = 32;

// Depth first over the part of the tree in which waiting sequences end.
class DepthFirst {
 public:
  DepthFirst(std::deque<Sequence*>& waiting, TokenPool& pool) : tree_(pool.tree()) {
    for (Sequence* s : waiting) {
      const auto match = pool.lookup(s->slot, s->known_tokens());
      ends_[match.node].push_back(s);
    }
    for (const auto& [node, sequences] : ends_) {
      for (NodeId n = node;; n = tree_.parent(n)) {
        weight_[n] += sequences.size();
        if (n == RadixCache::kRoot) break;
      }
    }
    waiting.clear();
    visit(RadixCache::kRoot, waiting);
  }

 private:
  using NodeId = RadixCache::NodeId;

  void visit(NodeId node, std::deque<Sequence*>& out) const {
    std::vector<std::pair<std::size_t, NodeId>> children;
    const auto ends = ends_.find(node);
    const std::size_t here = ends == ends_.end() ? 0 : ends->second.size();
    std::size_t below = weight_.at(node) - here;
    for (NodeId c = tree_.first_child(node); below > 0; c = tree_.next_sibling(c)) {
      const auto weight = weight_.find(c);
      if (weight == weight_.end()) continue;
      children.emplace_back(weight->second, c);
      below -= weight->second;
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& child : children) visit(child.second, out);
    if (here > 0) out.insert(out.end(), ends->second.begin(), ends->second.end());
  }

  const RadixCache& tree_;
  std::unordered_map<NodeId, std::vector<Sequence*>> ends_;
  std::unordered_map<NodeId, std::size_t> weight_;
};

}  // namespace

SglangPolicy::SglangPolicy(const std::string& name, bool prefix_caching, std::uint64_t seed)
    : stream_(seed, "sglang random policy") {
  const std::vector<std::string> names = {"fcfs", "lpm", "dfs-weight", "lof", "random"};
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw InputError({.place = "engine.policy",
                      .found = "\"" + name + "\"",
                      .expected = one_of(name, names) + " for sglang"});
  }
  order_ = static_cast<Order>(found - names.begin());
  const bool reads_tree = order_ == Order::kLpm || order_ == Order::kDfsWeight;
  if (reads_tree && !prefix_caching) order_ = Order::kFcfs;
}

void SglangPolicy::sort(std::deque<Sequence*>& waiting,
                        const std::vector<std::int32_t>& output_budget, TokenPool& pool) {
  if (waiting.empty()) return;
  switch (order_) {
    case Order::kFcfs:
      return;
    case Order::kLpm:
      if (waiting.size() <= kLongestLpmQueue) by_longest_prefix(waiting, pool);
      return;
    case Order::kDfsWeight:
      DepthFirst(waiting, pool);
      return;
    case Order::kRandom:
      shuffle(waiting);
      return;
    case Order::kLof:
      break;
  }
  const auto longer = [&](const Sequence* a, const Sequence* b) {
    return output_budget[a->slot] > output_budget[b->slot];
  };
  if (std::is_sorted(waiting.begin(), waiting.end(), longer)) return;
  std::stable_sort(waiting.begin(), waiting.end(), longer);
}

void SglangPolicy::by_longest_prefix(std::deque<Sequence*>& waiting, TokenPool& pool) {
  in_batch_.clear();
  std::vector<std::pair<std::int32_t, Sequence*>> keyed;
  keyed.reserve(waiting.size());
  for (Sequence* s : waiting) {
    const std::int32_t known = s->known_tokens();
    std::int32_t key = -pool.lookup(s->slot, known).tokens;
    if (-key <= kInBatchCheckTokens) {
      const TokenText& text = pool.text(s->slot);
      if (in_batch_.match(text, known).tokens >= kInBatchShareTokens) {
        key = std::numeric_limits<std::int32_t>::max();
      } else {
        in_batch_.insert(text, known);
      }
    }
    keyed.emplace_back(key, s);
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(keyed.begin(), keyed.end(), waiting.begin(),
                 [](const auto& entry) { return entry.second; });
}

// Fisher and Yates.
void SglangPolicy::shuffle(std::deque<Sequence*>& waiting) {
  for (std::size_t i = waiting.size(); i > 1; --i) {
    const auto other = stream_.uniform_int(0, static_cast<std::int64_t>(i) - 1);
    std::swap(waiting[i - 1], waiting[static_cast<std::size_t>(other)]);
  }
}

}  // namespace headway
