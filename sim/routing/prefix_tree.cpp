#include "sim/routing/prefix_tree.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <queue>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/hash.h"

namespace headway {

std::size_t PrefixTree::KeyHash::operator()(const Key& key) const {
  return static_cast<std::size_t>(
      mix64(key.text ^ (static_cast<std::uint64_t>(key.parent) << 32) ^
            static_cast<std::uint32_t>(key.from)));
}

PrefixTree::Owner* PrefixTree::find(Node& node, std::uint32_t replica) {
  const auto place =
      std::lower_bound(node.owners.begin(), node.owners.end(), replica,
                       [](const Owner& o, std::uint32_t number) { return o.replica < number; });
  return place != node.owners.end() && place->replica == replica ? &*place : nullptr;
}

// Who brought it, else the first of its owners that may be chosen.
template <typename May>
PrefixTree::Owner* PrefixTree::chosen_owner(Node& node, May may) {
  Owner* first = find(node, node.brought_by);
  if (first != nullptr && may(*first)) return first;
  const auto other = std::find_if(node.owners.begin(), node.owners.end(), may);
  return other == node.owners.end() ? nullptr : &*other;
}

PrefixTree::Match PrefixTree::match(std::span<const PromptRun> prompt,
                                    const std::vector<bool>& takes) {
  const auto may = [&](const Owner& o) { return o.replica < takes.size() && takes[o.replica]; };
  Match match;
  Owner* last = nullptr;
  std::uint32_t parent = kRoot;
  bool whole = true;  // what is matched so far ends with a node
  for (PromptRun rest : prompt) {
    while (whole && rest.tokens > 0) {
      const auto child = children_.find({parent, rest.text, rest.from});
      Owner* const owner =
          child == children_.end() ? nullptr : chosen_owner(nodes_[child->second], may);
      if (owner == nullptr) {
        whole = false;
        break;
      }
      last = owner;
      const PromptRun& run = nodes_[child->second].run;
      const std::int32_t shared = std::min(rest.tokens, run.tokens);
      match.tokens += shared;
      match.owner = owner->replica;
      rest.from += shared;
      rest.tokens -= shared;
      whole = shared == run.tokens;
      parent = child->second;
    }
    if (!whole) break;
  }
  const std::uint64_t use = uses_++;
  if (last != nullptr && use % 8 == 0) last->last_used = use;
  return match;
}

void PrefixTree::insert(std::span<const PromptRun> prompt, std::uint32_t owner) {
  if (owner >= tokens_.size()) tokens_.resize(owner + 1);
  std::uint32_t at = kRoot;
  for (PromptRun rest : prompt) {
    while (rest.tokens > 0) {
      const auto child = children_.find({at, rest.text, rest.from});
      if (child == children_.end()) {
        at = add_node({rest, at, owner, {}});
      } else {
        at = child->second;
        if (rest.tokens < nodes_[at].run.tokens) at = split(at, rest.tokens);
      }
      own(at, owner);
      const std::int32_t done = nodes_[at].run.tokens;
      rest.from += done;
      rest.tokens -= done;
    }
  }
  if (at != kRoot) find(nodes_[at], owner)->last_used = uses_++;
}

void PrefixTree::evict(std::int64_t max_tokens) {
  const auto too_many = [&](std::int64_t tokens) { return tokens > max_tokens; };
  if (std::none_of(tokens_.begin(), tokens_.end(), too_many)) return;
  struct Leaf {
    std::uint64_t last_used;
    std::uint32_t node, replica;
    auto operator<=>(const Leaf&) const = default;
  };
  std::priority_queue<Leaf, std::vector<Leaf>, std::greater<>> leaves;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    for (const Owner& o : nodes_[i].owners) {
      if (o.children == 0 && too_many(tokens_[o.replica])) leaves.push({o.last_used, i, o.replica});
    }
  }
  while (!leaves.empty()) {
    const Leaf leaf = leaves.top();
    leaves.pop();
    if (!too_many(tokens_[leaf.replica])) continue;
    const std::uint32_t parent = nodes_[leaf.node].parent;
    disown(leaf.node, leaf.replica);
    if (parent == kRoot) continue;
    const Owner& above = *find(nodes_[parent], leaf.replica);
    if (above.children == 0) leaves.push({above.last_used, parent, leaf.replica});
  }
}

void PrefixTree::remove(std::uint32_t owner) {
  if (tokens_of(owner) == 0) return;
  tokens_[owner] = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    const Owner* place = find(node, owner);
    if (place == nullptr) continue;
    node.owners.erase(node.owners.begin() + (place - node.owners.data()));
    if (node.owners.empty()) free_node(i);
  }
}

std::int64_t PrefixTree::tokens_of(std::uint32_t owner) const {
  return owner < tokens_.size() ? tokens_[owner] : 0;
}

std::uint32_t PrefixTree::add_node(Node node) {
  std::uint32_t index = static_cast<std::uint32_t>(nodes_.size());
  if (free_.empty()) {
    nodes_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  children_[key_of(node)] = index;
  nodes_[index] = std::move(node);
  return index;
}

// A new node takes the place and the first tokens of the node, which goes below it with the others.
std::uint32_t PrefixTree::split(std::uint32_t lower, std::int32_t tokens) {
  Node upper = nodes_[lower];
  upper.run.tokens = tokens;
  for (Owner& o : upper.owners) o.children = 1;
  const std::uint32_t index = add_node(std::move(upper));
  Node& node = nodes_[lower];
  node.run.from += tokens;
  node.run.tokens -= tokens;
  node.parent = index;
  children_[key_of(node)] = lower;
  return index;
}

// REQUIRES: it owns the parent.
void PrefixTree::own(std::uint32_t index, std::uint32_t replica) {
  Node& node = nodes_[index];
  if (find(node, replica) != nullptr) return;
  const auto place =
      std::lower_bound(node.owners.begin(), node.owners.end(), replica,
                       [](const Owner& o, std::uint32_t number) { return o.replica < number; });
  node.owners.insert(place, Owner{replica, 0, 0});
  tokens_[replica] += node.run.tokens;
  if (node.parent != kRoot) ++find(nodes_[node.parent], replica)->children;
}

// REQUIRES: a leaf of the replica's.
void PrefixTree::disown(std::uint32_t index, std::uint32_t replica) {
  Node& node = nodes_[index];
  tokens_[replica] -= node.run.tokens;
  if (node.parent != kRoot) --find(nodes_[node.parent], replica)->children;
  node.owners.erase(node.owners.begin() + (find(node, replica) - node.owners.data()));
  if (node.owners.empty()) free_node(index);
}

void PrefixTree::free_node(std::uint32_t index) {
  Node& node = nodes_[index];
  children_.erase(key_of(node));
  node = Node();
  free_.push_back(index);
}

}  // namespace headway
