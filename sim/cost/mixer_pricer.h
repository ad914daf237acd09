#pragma once

#include <memory>
#include <vector>

#include "sim/cost/operator_work.h"
#include "sim/cost/profile.h"
#include "sim/cost/step_pricer.h"

namespace headway {

// What mixes tokens in ONE layer, from a profile. Thread-safe for concurrent reads.
class MixerPricer {
 public:
  virtual ~MixerPricer() = default;

  // Decode sequences that hold kv_tokens in all: what depends on the KV, and what does not.
  virtual Priced decode(double batch, double kv_tokens) const = 0;
  virtual Priced decode_fixed(double batch) const;
  // KV lengths at which decode() bends, ascending.
  virtual std::vector<double> bends() const = 0;
  // The prefill chunks of a step, from tables made beforehand where `tabulated`.
  virtual Priced prefill(const std::vector<PrefillChunk>& chunks, bool tabulated) const = 0;
};

// How each kind is read out of a profile:
//   attention: the tables of its KV format, head size and window. Without one of them: a table of
//   another head size (64 heads of 64 are 32 of 128: as many bytes and FLOPs), tagged extrapolated;
//   a window through the table of full attention, decode at min(length, window), prefill by its
//   share of the pairs, tagged interpolated at best; another KV format scaled by the ratio of the
//   two rooflines above the launch floor, tagged roofline.
//   MLA, indexers, compressed entries: FLOPs and bytes at the efficiencies and launch floors that
//   this profile's attention and products were fitted with, tagged roofline; decode of MLA from
//   mla_decode where it was measured.
//   recurrent states: bytes at 80 % of the bandwidth and a floor a kernel, tagged roofline;
//   ssm_update and gdn_update where they were measured.
// InputError: no attention table at all where the layer needs one.
std::unique_ptr<MixerPricer> make_mixer_pricer(const Profile& profile, const RankOperators& ops,
                                               const RankLayer& layer, const GpuSpec& gpu,
                                               std::int32_t max_kv_tokens);

// Share of the data-sheet bandwidth that streaming kernels reach.
inline constexpr double kStreamingShare = 0.8;
// Norms, RoPE and activations are not in imported tables, but they are kernels as the measured ones
// are and have a launch floor as those do: 3 us, the constant that AIConfigurator's systems.csv
// states for memory-bound kernels of every GPU (LLMServingSim times such kernels at 2.1 to 3.2 us
// on few tokens).
inline constexpr double kStreamingFloorUs = 3.0;

}  // namespace headway
