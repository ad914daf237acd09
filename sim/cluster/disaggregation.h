#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/model/model_spec.h"
#include "sim/replica/handover.h"
#include "sim/routing/router.h"
#include "sim/scenario/scenario.h"
#include "sim/workload/request.h"

namespace headway {

// Which replica computes a prompt, which one goes on with the answer, and what sending the KV between
// them takes. Replicas of pools with the role prefill compute prompts, those of pools with the role
// decode go on. It knows no event and moves nothing.
//
//  distserve  (Zhong et al., OSDI'24, 4.3 and 5) a prompt goes to the replica with the fewest prompt
//             tokens; when it is computed, the answer goes to the replica with the fewest requests,
//             which pulls the KV when it has room for it: until then the prompt's replica keeps it.
//  splitwise  (Patel et al., ISCA'24, 4.1; SplitwiseSim, MixedPoolScheduler) both are chosen when the
//             request arrives, each by the shortest queue in tokens, and the KV is pushed when the
//             prompt is computed (and there is room for it). Where the prompt's queue is longer than
//             lend_above_tokens, a replica that decodes takes both parts: its pool lends.
//
// Requests of one token are answered where their prompt is computed. Those with several samples stay
// in one replica that decodes: their prompt's KV is shared there.
class Disaggregation {
 public:
  struct Choice {
    std::uint32_t replica;
    bool prompt_only;             // else it stays there
    std::uint32_t answer = kLater;  // who goes on
  };
  static constexpr std::uint32_t kLater = UINT32_MAX;

  // `most`: how many replicas each pool has numbers for.
  Disaggregation(const Scenario& scenario, std::span<const std::int32_t> most);

  // Of the replicas those that prompts are sent to. Valid until the next call.
  std::span<const ReplicaLoad> doors(std::span<const ReplicaLoad> loads);
  // REQUIRES: each kind is among `loads`. `doors` may be some of doors().
  Choice choose(const Request& request, std::span<const ReplicaLoad> doors,
                std::span<const ReplicaLoad> loads) const;
  std::uint32_t choose_answer(std::span<const ReplicaLoad> loads) const;

  // The KV of the prompt, of all layers and ranks; without the first tokens that are there already.
  double bytes(std::uint32_t from, std::int32_t prompt_tokens, std::int32_t cached_tokens) const;
  // How long the link is taken by them. `computing`: for how long the prompt was computed while its
  // first layers could be sent already.
  SimTime duration(double bytes, std::uint32_t from, std::uint32_t to, SimTime computing) const;
  bool overlaps() const { return overlaps_; }

 private:
  struct Kind {  // of replicas: a pool
    bool prefill;
    std::int32_t gpus;  // of an engine
    DType kv;
  };
  const Kind& kind_of(std::uint32_t replica) const { return kinds_[pool_of_[replica]]; }

  bool splitwise_, overlaps_, per_gpu_;
  std::int64_t lend_above_tokens_;
  double bandwidth_;
  SimTime latency_;
  ModelSpec model_;
  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> pool_of_;  // by replica
  std::vector<ReplicaLoad> doors_;
};

}  // namespace headway
