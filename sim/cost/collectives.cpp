#include "sim/cost/collectives.h"

#include <cmath>

#include "sim/core/sim_time.h"
#include "sim/cost/measured_operators.h"

namespace headway {
namespace {

constexpr double kChoiceBytes = 8;  // of the router's: a 32-bit index and a 32-bit weight

const char* table_op(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllGather: return "all_gather";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    default: return "all_to_all";
  }
}

std::int32_t exchange_gpus(const RankOperators& ops) {
  return ops.all_to_all ? ops.expert_parallel : ops.data_parallel;
}

// Bytes of a row of all ranks that the message grows by.
double row_bytes(const RankOperators& ops, const RankLayer& layer, bool dispatch) {
  const double top_k = layer.spec.mlp.experts_per_tok;
  const double choice = dispatch ? kChoiceBytes * top_k : 0;
  const double row = hidden_message_bytes(ops, 1) + choice;
  if (!ops.all_to_all) return row;
  const double groups = ops.expert_parallel;
  return groups_reached(groups, top_k) / groups * row;
}

}  // namespace

Collective::Collective(const Profile* profile, CollectiveKind kind, std::int32_t gpus,
                       const GpuSpec& gpu)
    : gpus_(gpus), link_bandwidth_(gpu.link_bandwidth), link_latency_us_(gpu.link_latency_us) {
  const ProfileTable* table =
      profile == nullptr ? nullptr : profile->find(table_op(kind), {{"impl", "nccl"}});
  if (table == nullptr || gpus < 2) return;
  const OperatorTable op = measured_operator(*table);
  if (op.has_site({gpus_})) measured_ = op.site({gpus_});
}

Priced Collective::at(double bytes) const {
  if (gpus_ < 2) return {0, Coverage::kMeasured};
  if (measured_) return measured_->at(bytes);
  if (link_bandwidth_ <= 0) return {0, Coverage::kRoofline};
  const double moved = (gpus_ - 1) / gpus_ * bytes;
  return {moved / link_bandwidth_ * kUsPerSecond + link_latency_us_, Coverage::kRoofline};
}

ExpertExchange::ExpertExchange(const Profile* profile, const RankOperators& ops,
                               const RankLayer& layer, const GpuSpec& gpu)
    : dispatch_bytes_(row_bytes(ops, layer, true)),
      combine_bytes_(row_bytes(ops, layer, false)),
      dispatch_(profile, ops.all_to_all ? CollectiveKind::kAllToAll : CollectiveKind::kAllGather,
                exchange_gpus(ops), gpu),
      combine_(profile,
               ops.all_to_all ? CollectiveKind::kAllToAll : CollectiveKind::kReduceScatter,
               exchange_gpus(ops), gpu) {}

Priced ExpertExchange::at(double rows) const {
  const Priced there = dispatch_.at(rows * dispatch_bytes_);
  const Priced back = combine_.at(rows * combine_bytes_);
  return {there.us + back.us, weaker(there.from, back.from)};
}

double groups_reached(double groups, double top_k) {
  return groups * (1 - std::pow(1 - 1 / groups, top_k));
}

}  // namespace headway
