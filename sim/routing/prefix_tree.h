#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/workload/prompt_runs.h"

namespace headway {

// Which prompts were sent to which replicas, as the tree of SGLang's model gateway keeps it
// (sgl-model-gateway, src/policies/tree.rs, 03744dbe of early 2026): one tree of all texts, every node
// with the replicas that own it. It is a guess at what their caches hold, made of requests alone.
//
// The gateway's nodes hold characters; ours hold tokens of one text (PromptRun), so that a prompt of n
// named blocks takes n nodes at most and costs O(n) to match and to insert. Its sizes are therefore in
// tokens. What follows from the finer cut: eviction may take the end of a text and leave its beginning,
// where the gateway would take all of it up to the last fork.
class PrefixTree {
 public:
  struct Match {
    std::int64_t tokens = 0;  // of the prompt's beginning; 0 = nothing matches, no owner
    std::uint32_t owner = 0;
  };
  // The longest beginning of the prompt that some replica of `takes` (by number, true = it takes
  // requests) owns: of several, the one that brought it, else the one with the least number. Every
  // eighth use of the tree, if it is this one, counts as a use of the text.
  Match match(std::span<const PromptRun> prompt, const std::vector<bool>& takes);
  // The prompt is the owner's, and its end the text last used.
  void insert(std::span<const PromptRun> prompt, std::uint32_t owner);
  // From every owner of more than that many tokens, the ends of texts that were not used for longest.
  void evict(std::int64_t max_tokens);
  void remove(std::uint32_t owner);

  std::int64_t tokens_of(std::uint32_t owner) const;
  std::size_t nodes() const { return nodes_.size() - free_.size(); }

 private:
  struct Owner {
    std::uint32_t replica = 0;
    std::uint32_t children = 0;    // of the node, that it owns as well; 0 = a leaf of its
    std::uint64_t last_used = 0;   // 0 = on the way to another only
  };
  struct Node {
    PromptRun run;                 // no tokens: a free place
    std::uint32_t parent = 0;
    std::uint32_t brought_by = 0;
    std::vector<Owner> owners;     // by number, those of its children among them
  };
  struct Key {
    std::uint32_t parent = 0;
    std::uint64_t text = 0;
    std::int32_t from = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  static constexpr std::uint32_t kRoot = UINT32_MAX;

  static Key key_of(const Node& node) { return {node.parent, node.run.text, node.run.from}; }
  static Owner* find(Node& node, std::uint32_t replica);
  template <typename May>
  static Owner* chosen_owner(Node& node, May may);
  std::uint32_t add_node(Node node);
  std::uint32_t split(std::uint32_t lower, std::int32_t tokens);
  void own(std::uint32_t index, std::uint32_t replica);
  void disown(std::uint32_t index, std::uint32_t replica);
  void free_node(std::uint32_t index);

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<Key, std::uint32_t, KeyHash> children_;
  std::vector<std::int64_t> tokens_;  // by owner
  std::uint64_t uses_ = 0;
};

}  // namespace headway
