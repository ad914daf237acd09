#pragma once

#include <cstdint>
#include <optional>

#include "sim/cost/interpolation.h"
#include "sim/cost/operators.h"
#include "sim/cost/profile.h"
#include "sim/cost/step_pricer.h"
#include "sim/hardware/gpu_spec.h"

namespace headway {

enum class CollectiveKind : std::uint8_t { kAllGather, kReduceScatter, kAllToAll };

// One collective among the GPUs of a node: NCCL's time where the profile has it for that many GPUs,
// else each GPU's (p - 1) / p of the message over the link of the data sheet, and its latency.
class Collective {
 public:
  // `profile` null: the link. It must outlive the constructor only.
  Collective(const Profile* profile, CollectiveKind kind, std::int32_t gpus, const GpuSpec& gpu);

  // The message is what every GPU has after an all-gather and before a reduce-scatter; in an
  // all-to-all it is what one GPU sends, its own part included.
  Priced at(double bytes) const;

 private:
  double gpus_, link_bandwidth_, link_latency_us_;
  std::optional<SitePricer> measured_;
};

// What brings tokens to their experts and back, in one layer, when ranks with attention of their own
// share them. Every tensor-parallel rank does it with its peers of the other ranks.
//   all-gather + reduce-scatter: every rank gets all rows with the router's choice, and returns sums
//     (vLLM's default, all2all_backend allgather_reducescatter);
//   all-to-all: a row travels once to each group of GPUs that holds an expert of its top k.
class ExpertExchange {
 public:
  ExpertExchange(const Profile* profile, const RankOperators& ops, const RankLayer& layer,
                 const GpuSpec& gpu);
  // `rows` of all ranks together.
  Priced at(double rows) const;

 private:
  double dispatch_bytes_, combine_bytes_;  // of a row
  Collective dispatch_, combine_;
};

// GPUs that one of `top_k` different choices among `groups` equal ones falls on, on average.
double groups_reached(double groups, double top_k);

}  // namespace headway
