#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <unordered_map>

namespace headway {

// KV blocks in host memory, behind the prefix cache of a GPU: a second tier by block hash, as vLLM's
// native CPU offloading keeps it (v0.16.0, vllm/v1/kv_offload/lru_manager.py and
// distributed/kv_transfer/kv_connector/v1/offloading_connector.py):
//  - every block that becomes full is written through, whatever becomes of it on the GPU; where all
//    places are taken, the block used least recently gives way;
//  - the blocks of a prompt are used when it is admitted, its last one first, so that the head of a
//    prompt survives longest.
// Writing takes no time here: the copies run beside the steps.
class HostTier {
 public:
  explicit HostTier(std::int64_t blocks) : places_(blocks) {}

  bool on() const { return places_ > 0; }
  std::int64_t places() const { return places_; }
  std::int64_t blocks() const { return static_cast<std::int64_t>(by_hash_.size()); }
  bool holds(std::uint64_t hash) const { return by_hash_.contains(hash); }
  // The block is there from now on, and the one used last.
  void put(std::uint64_t hash) {
    const auto found = by_hash_.find(hash);
    if (found != by_hash_.end()) {
      by_use_.splice(by_use_.end(), by_use_, found->second);
      return;
    }
    if (blocks() == places_) {
      by_hash_.erase(by_use_.front());
      by_use_.pop_front();
    }
    by_use_.push_back(hash);
    by_hash_.emplace(hash, std::prev(by_use_.end()));
  }

 private:
  std::int64_t places_;
  std::list<std::uint64_t> by_use_;  // least recently first
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> by_hash_;
};

}  // namespace headway
