#pragma once

#include <memory>

#include "sim/cost/mixer_pricer.h"

namespace headway {

// The makers behind make_mixer_pricer, one file each.
std::unique_ptr<MixerPricer> make_measured_attention(const Profile& profile,
                                                     const RankOperators& ops,
                                                     const RankLayer& layer, const GpuSpec& gpu,
                                                     std::int32_t max_kv_tokens);
std::unique_ptr<MixerPricer> make_fitted_attention(const Profile& profile, const RankOperators& ops,
                                                   const RankLayer& layer, const GpuSpec& gpu);
std::unique_ptr<MixerPricer> make_measured_state(const Profile& profile, const RankOperators& ops,
                                                 const RankLayer& layer, const GpuSpec& gpu);

// The attention table that fits best: of this KV format, then of another; of this head size, then
// of the nearest. InputError when there is none at all.
struct AttentionTable {
  const ProfileTable* table = nullptr;
  double head_dim = 0;
  DType kv = DType::kBf16;
  std::int32_t window = 0;
};
AttentionTable find_attention(const Profile& profile, const std::string& op, DType kv,
                              std::int32_t head_dim, std::int32_t window);

}  // namespace headway
