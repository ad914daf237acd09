#include "sim/cluster/disaggregation.h"

#include <algorithm>

#include "sim/core/errors.h"
#include "sim/hardware/kv_links.h"
#include "sim/replica/request_group.h"
#include "sim/scenario/pools.h"

namespace headway {
namespace {

std::int32_t answer_tokens(const Request& r) {
  return r.max_tokens > 0 ? std::min(r.max_tokens, r.output_tokens) : r.output_tokens;
}

// The load that is least by `key`, of those that `eligible` admits; of equals the first.
template <typename Eligible, typename Key>
const ReplicaLoad& least(std::span<const ReplicaLoad> loads, Eligible eligible, Key key) {
  const ReplicaLoad* best = nullptr;
  for (const ReplicaLoad& load : loads) {
    if (eligible(load) && (best == nullptr || key(load) < key(*best))) best = &load;
  }
  SIM_CHECK(best != nullptr, "no replica of the kind that is wanted");
  return *best;
}

std::int64_t tokens_at(const ReplicaLoad& load) { return load.prompt_tokens; }

}  // namespace

Disaggregation::Disaggregation(const Scenario& scenario, std::span<const std::int32_t> most)
    : model_(scenario.model) {
  const TransferOptions& o = scenario.cluster.transfer;
  splitwise_ = o.rule == "splitwise";
  overlaps_ = o.overlap == "layers";
  per_gpu_ = o.per_gpu;
  lend_above_tokens_ = o.lend_above_tokens;
  const KvLinkSpec* link = find_kv_link(o.link);
  bandwidth_ = link != nullptr ? link->bandwidth : o.bandwidth;
  latency_ = SimTime::from_us(link != nullptr ? link->latency_us : o.latency_us);
  SIM_CHECK(bandwidth_ > 0);
  const std::vector<Scenario> pools = pool_scenarios(scenario);
  SIM_CHECK(pools.size() == most.size() && pools.size() == scenario.cluster.pools.size());
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const ParallelOptions& p = pools[i].parallel;
    kinds_.push_back({scenario.cluster.pools[i].role == "prefill",
                      p.tensor_parallel_size * p.pipeline_parallel_size, pools[i].precision.kv});
    pool_of_.insert(pool_of_.end(), static_cast<std::size_t>(most[i]),
                    static_cast<std::uint32_t>(i));
  }
}

std::span<const ReplicaLoad> Disaggregation::doors(std::span<const ReplicaLoad> loads) {
  doors_.clear();
  for (const ReplicaLoad& load : loads) {
    if (kind_of(load.replica).prefill) doors_.push_back(load);
  }
  return doors_;
}

Disaggregation::Choice Disaggregation::choose(const Request& request,
                                              std::span<const ReplicaLoad> doors,
                                              std::span<const ReplicaLoad> loads) const {
  const auto decodes = [this](const ReplicaLoad& load) { return !kind_of(load.replica).prefill; };
  if (sequences_of(request) > 1) return {least(loads, decodes, tokens_at).replica, false};
  const ReplicaLoad& prompt =
      least(doors, [](const ReplicaLoad&) { return true; }, tokens_at);
  if (answer_tokens(request) == 1) return {prompt.replica, false};
  if (!splitwise_) return {prompt.replica, true};
  const std::uint32_t answer = least(loads, decodes, tokens_at).replica;
  const bool queue_is_long = prompt.outstanding > 0 &&
                             prompt.prompt_tokens + request.prompt_tokens > lend_above_tokens_;
  if (queue_is_long) return {answer, false};
  return {prompt.replica, true, answer};
}

std::uint32_t Disaggregation::choose_answer(std::span<const ReplicaLoad> loads) const {
  const auto decodes = [this](const ReplicaLoad& load) { return !kind_of(load.replica).prefill; };
  return least(loads, decodes, [](const ReplicaLoad& load) { return load.outstanding; }).replica;
}

double Disaggregation::bytes(std::uint32_t from, std::int32_t prompt_tokens,
                             std::int32_t cached_tokens) const {
  const DType kv = kind_of(from).kv;
  return kv_bytes(model_, kv, prompt_tokens) - cached_tokens * kv_bytes_per_token(model_, kv);
}

// Layer by layer, each is sent when it has been computed and the one before it is through; the prompt
// took its time for all of them alike.
SimTime Disaggregation::duration(double bytes, std::uint32_t from, std::uint32_t to,
                                 SimTime computing) const {
  const double links = per_gpu_ ? std::min(kind_of(from).gpus, kind_of(to).gpus) : 1;
  double us = bytes / (bandwidth_ * links) * 1e6;
  if (computing > SimTime()) {
    const double last_layer = 1.0 / model_.num_hidden_layers();
    us = std::max(us * last_layer, us - computing.us() * (1.0 - last_layer));
  }
  return latency_ + SimTime::from_us(us);
}

}  // namespace headway
