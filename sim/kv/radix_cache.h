#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/workload/request.h"

namespace headway {

// Whose tokens a cache entry holds. The tree keeps its own reference: entries outlive requests.
using TokenText = std::shared_ptr<const Request>;

// The prefix tree of SGLang v0.5.5.post3 (commit 7b2fb3d47, python/sglang/srt/mem_cache/
// radix_cache.py): a node is a run of tokens below its parent's, in whole pages.
//
//  - A search or an insertion stamps its path with one access time; a node that it makes, by
//    splitting another or as a new leaf, gets a later one.
//  - A locked node is one on the path of a lock(); it is protected, every other one evictable.
//  - Eviction takes whole leaves, the least recently stamped first; a parent whose last child goes
//    becomes a leaf itself.
//
// No token is stored: a node is (text, from, to), and tokens are looked at (token_at) only where
// two texts meet. Text unlike any other costs one look-up an operation, whatever its length.
class RadixCache {
 public:
  using NodeId = std::uint32_t;
  static constexpr NodeId kRoot = 0;

  struct Match {
    std::int32_t tokens = 0;  // whole pages
    NodeId node = kRoot;      // where they end
  };

  explicit RadixCache(std::int32_t page_size);

  // The longest prefix of the text's first `tokens` tokens that is here.
  Match match(const TokenText& text, std::int32_t tokens);
  // Puts the whole pages of the first `tokens` tokens here; returns how many were here before.
  std::int32_t insert(const TokenText& text, std::int32_t tokens);

  // Protects the path from the root to `node`; locks are counted.
  void lock(NodeId node);
  void unlock(NodeId node);

  // Drops leaves until `tokens` tokens are freed or all that is left is locked; returns how many
  // were.
  std::int64_t evict(std::int64_t tokens);
  void clear();

  std::int64_t evictable_tokens() const { return evictable_; }
  std::int64_t protected_tokens() const { return protected_; }

  // For orders over the tree: children in order of insertion (a split leaves the place of the
  // node).
  NodeId parent(NodeId node) const { return nodes_[node].parent; }
  NodeId first_child(NodeId node) const { return nodes_[node].first_child; }  // kRoot = none
  NodeId next_sibling(NodeId node) const { return nodes_[node].next; }        // kRoot = none

  // InternalError when the books do not agree. Walks everything: tests only.
  void check() const;

 private:
  struct Node {
    TokenText text;
    std::int32_t begin = 0;  // positions of the text
    std::int32_t end = 0;
    NodeId parent = kRoot;
    NodeId first_child = kRoot, last_child = kRoot, previous = kRoot, next = kRoot;
    std::int32_t locks = 0;
    std::uint64_t stamp = 0;
    bool listed = false;  // in leaves_
    std::int32_t tokens() const { return end - begin; }
  };
  struct Edge {
    NodeId parent;
    std::uint64_t first_page;  // page size 1: the token itself
    bool operator==(const Edge&) const = default;
  };
  struct EdgeHash {
    std::size_t operator()(const Edge& edge) const;
  };

  struct Step {
    NodeId child = kRoot;     // kRoot = there is none
    std::int32_t tokens = 0;  // of it that agree, whole pages
  };
  Step descend(NodeId node, const TokenText& text, std::int32_t from, std::int32_t to,
               std::uint64_t stamp);
  Edge edge(NodeId parent, const Request& text, std::int32_t position) const;
  NodeId new_node();
  NodeId split(NodeId node, std::int32_t at);
  void append_child(NodeId parent, NodeId child);
  void remove_leaf(NodeId node);
  void touch(NodeId node, std::uint64_t stamp);
  void list_if_evictable(NodeId node);
  void unlist(NodeId node);
  std::int32_t whole_pages(std::int32_t tokens) const { return tokens - tokens % page_size_; }

  std::int32_t page_size_;
  std::vector<Node> nodes_;  // [0] is the root, which holds nothing
  std::vector<NodeId> free_nodes_;
  std::unordered_map<Edge, NodeId, EdgeHash> children_;
  std::set<std::pair<std::uint64_t, NodeId>> leaves_;  // unlocked ones, by stamp
  std::uint64_t clock_ = 0;
  std::int64_t evictable_ = 0;
  std::int64_t protected_ = 0;
};

}  // namespace headway
