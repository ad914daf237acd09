#pragma once

#include <optional>

#include "sim/cost/interpolation.h"
#include "sim/cost/operators.h"
#include "sim/cost/profile.h"

namespace headway {

// The small kernels between the products, where a profile measured them: norms with their residual,
// RoPE, KV write and activation of each layer; embedding and final norm of a step; the greedy
// sampler. Holds all it needs.
class MeasuredElementwise {
 public:
  // Nothing unless the layer is one of plain attention (with or without an MLP of gated columns),
  // and the profile has rmsnorm, rope and kv_write tables, and silu_mul for such an MLP.
  static std::optional<MeasuredElementwise> find(const Profile& profile, const RankOperators& ops,
                                                 const RankLayer& layer);

  Priced layer(double tokens) const;  // of one layer
  Priced step(double tokens) const;   // once a step
  // The sampler for that many sequences; nothing where it was not measured.
  std::optional<Priced> sampler(double sequences) const;

 private:
  SitePricer norm_, rope_, kv_write_;
  std::optional<SitePricer> activation_, embedding_, head_norm_, sampler_;
  double norms_ = 2;           // of a layer
  double head_norm_rows_ = 0;  // rows of the norm on queries and keys, a token
};

}  // namespace headway
