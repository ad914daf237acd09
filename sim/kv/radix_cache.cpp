#include "sim/kv/radix_cache.h"

#include <algorithm>

#include "sim/core/errors.h"
#include "sim/core/hash.h"
#include "sim/kv/same_tokens.h"

namespace headway {

RadixCache::RadixCache(std::int32_t page_size) : page_size_(page_size) {
  SIM_CHECK(page_size > 0);
  nodes_.emplace_back();
}

std::size_t RadixCache::EdgeHash::operator()(const Edge& edge) const {
  return static_cast<std::size_t>(combine64(edge.parent, edge.first_page));
}

RadixCache::Edge RadixCache::edge(NodeId parent, const Request& text, std::int32_t position) const {
  std::uint64_t page = token_at(text, position);
  for (std::int32_t i = 1; i < page_size_; ++i)
    page = combine64(page, token_at(text, position + i));
  return {parent, page};
}

// The child that goes on like the text from `from` on, and how far; stamps it.
RadixCache::Step RadixCache::descend(NodeId node, const TokenText& text, std::int32_t from,
                                     std::int32_t to, std::uint64_t stamp) {
  if (from >= to) return {};
  const auto found = children_.find(edge(node, *text, from));
  if (found == children_.end()) return {};
  const Node& child = nodes_[found->second];
  const std::int32_t end = std::min(child.end, to);
  const std::int32_t same =
      child.text == text ? end - from : whole_pages(same_tokens(*child.text, *text, from, end));
  touch(found->second, stamp);
  return {found->second, same};
}

RadixCache::Match RadixCache::match(const TokenText& text, std::int32_t tokens) {
  const std::int32_t to = whole_pages(tokens);
  const std::uint64_t stamp = ++clock_;
  Match match;
  for (;;) {
    const Step step = descend(match.node, text, match.tokens, to, stamp);
    if (step.tokens == 0) return match;
    match.tokens += step.tokens;
    const bool whole = match.tokens == nodes_[step.child].end;
    match.node = whole ? step.child : split(step.child, match.tokens);
  }
}

std::int32_t RadixCache::insert(const TokenText& text, std::int32_t tokens) {
  const std::int32_t to = whole_pages(tokens);
  const Match found = match(text, to);
  if (found.tokens == to) return to;
  const NodeId leaf = new_node();
  Node& node = nodes_[leaf];
  node.text = text;
  node.begin = found.tokens;
  node.end = to;
  node.stamp = ++clock_;
  unlist(found.node);
  append_child(found.node, leaf);
  children_.emplace(edge(found.node, *text, found.tokens), leaf);
  evictable_ += to - found.tokens;
  list_if_evictable(leaf);
  return found.tokens;
}

RadixCache::NodeId RadixCache::new_node() {
  if (free_nodes_.empty()) {
    nodes_.emplace_back();
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  const NodeId id = free_nodes_.back();
  free_nodes_.pop_back();
  nodes_[id] = Node();
  return id;
}

// Cuts the node before position `at`; returns the new node of what lies before it, which takes the
// place among the siblings. The node itself keeps its identity, its end and its children.
RadixCache::NodeId RadixCache::split(NodeId node, std::int32_t at) {
  const NodeId head = new_node();
  Node& upper = nodes_[head];
  Node& lower = nodes_[node];
  upper.text = lower.text;
  upper.begin = lower.begin;
  upper.end = at;
  upper.parent = lower.parent;
  upper.previous = lower.previous;
  upper.next = lower.next;
  upper.locks = lower.locks;
  upper.stamp = ++clock_;
  (upper.previous == kRoot ? nodes_[upper.parent].first_child : nodes_[upper.previous].next) = head;
  (upper.next == kRoot ? nodes_[upper.parent].last_child : nodes_[upper.next].previous) = head;
  children_[edge(upper.parent, *upper.text, upper.begin)] = head;
  lower.begin = at;
  append_child(head, node);
  children_.emplace(edge(head, *lower.text, at), node);
  return head;
}

void RadixCache::append_child(NodeId parent, NodeId child) {
  Node& p = nodes_[parent];
  Node& c = nodes_[child];
  c.parent = parent;
  c.previous = p.last_child;
  c.next = kRoot;
  (p.last_child == kRoot ? p.first_child : nodes_[p.last_child].next) = child;
  p.last_child = child;
}

void RadixCache::remove_leaf(NodeId node) {
  Node& leaf = nodes_[node];
  Node& p = nodes_[leaf.parent];
  (leaf.previous == kRoot ? p.first_child : nodes_[leaf.previous].next) = leaf.next;
  (leaf.next == kRoot ? p.last_child : nodes_[leaf.next].previous) = leaf.previous;
  children_.erase(edge(leaf.parent, *leaf.text, leaf.begin));
  evictable_ -= leaf.tokens();
  leaf.text.reset();
  free_nodes_.push_back(node);
}

void RadixCache::lock(NodeId node) {
  for (; node != kRoot; node = nodes_[node].parent) {
    Node& n = nodes_[node];
    if (n.locks++ > 0) continue;
    evictable_ -= n.tokens();
    protected_ += n.tokens();
    unlist(node);
  }
}

void RadixCache::unlock(NodeId node) {
  for (; node != kRoot; node = nodes_[node].parent) {
    Node& n = nodes_[node];
    SIM_CHECK(n.locks > 0);
    if (--n.locks > 0) continue;
    evictable_ += n.tokens();
    protected_ -= n.tokens();
    list_if_evictable(node);
  }
}

std::int64_t RadixCache::evict(std::int64_t tokens) {
  std::int64_t freed = 0;
  while (freed < tokens && !leaves_.empty()) {
    const NodeId leaf = leaves_.begin()->second;
    const NodeId parent = nodes_[leaf].parent;
    unlist(leaf);
    freed += nodes_[leaf].tokens();
    remove_leaf(leaf);
    list_if_evictable(parent);
  }
  return freed;
}

void RadixCache::clear() {
  nodes_.resize(1);
  nodes_[kRoot] = Node();
  free_nodes_.clear();
  children_.clear();
  leaves_.clear();
  evictable_ = protected_ = 0;
}

void RadixCache::touch(NodeId node, std::uint64_t stamp) {
  const bool listed = nodes_[node].listed;
  unlist(node);
  nodes_[node].stamp = stamp;
  if (listed) list_if_evictable(node);
}

void RadixCache::list_if_evictable(NodeId node) {
  Node& n = nodes_[node];
  if (node == kRoot || n.listed || n.locks > 0 || n.first_child != kRoot) return;
  n.listed = true;
  leaves_.emplace(n.stamp, node);
}

void RadixCache::unlist(NodeId node) {
  Node& n = nodes_[node];
  if (!n.listed) return;
  n.listed = false;
  leaves_.erase({n.stamp, node});
}

void RadixCache::check() const {
  std::int64_t evictable = 0;
  std::int64_t locked = 0;
  std::size_t nodes = 0;
  std::size_t leaves = 0;
  std::vector<NodeId> open = {kRoot};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    const Node& n = nodes_[id];
    for (NodeId child = n.first_child; child != kRoot; child = nodes_[child].next) {
      const Node& c = nodes_[child];
      SIM_CHECK(c.parent == id && c.begin == n.end && c.end > c.begin, "radix tree: a broken link");
      SIM_CHECK(c.tokens() % page_size_ == 0, "radix tree: a part of a page");
      SIM_CHECK(id == kRoot || c.locks <= n.locks, "radix tree: locked below an unlocked node");
      SIM_CHECK(children_.at(edge(id, *c.text, c.begin)) == child, "radix tree: a lost child");
      open.push_back(child);
      ++nodes;
    }
    if (id == kRoot) continue;
    (n.locks > 0 ? locked : evictable) += n.tokens();
    const bool leaf = n.first_child == kRoot && n.locks == 0;
    SIM_CHECK(leaf == n.listed, "radix tree: the list of leaves");
    leaves += leaf ? 1 : 0;
  }
  SIM_CHECK(evictable == evictable_ && locked == protected_, "radix tree: sizes");
  SIM_CHECK(nodes == children_.size() && leaves == leaves_.size(), "radix tree: counts");
}

}  // namespace headway
