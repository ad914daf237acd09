#pragma once

#include <vector>

#include "sim/hardware/gpu_spec.h"
#include "sim/model/model_spec.h"
#include "tests/unit/cost/fixtures.h"

namespace headway {

inline GpuSpec h100_sheet() {
  GpuSpec gpu;
  gpu.name = "h100-sxm";
  gpu.flops_bf16 = 989e12;
  gpu.flops_fp8 = 1979e12;
  gpu.ops_int8 = 1979e12;
  gpu.flops_fp32 = 67e12;
  gpu.memory_bandwidth = 3.35e12;
  gpu.link_bandwidth = 450e9;
  gpu.link_latency_us = 5;
  return gpu;
}

// DeepSeek-V3's attention: 128 heads over a latent of 512 and a rotated key of 64.
inline MixerSpec latent_mixer() {
  MixerSpec m;
  m.kind = MixerKind::kLatentAttention;
  m.heads = m.kv_heads = 128;
  m.head_dim = 192;
  m.v_head_dim = 128;
  m.kv_lora_rank = 512;
  m.q_lora_rank = 1536;
  m.qk_rope_head_dim = 64;
  return m;
}

inline MixerSpec state_mixer(MixerKind kind, std::int32_t heads, std::int32_t groups,
                             std::int32_t key, std::int32_t value, std::int32_t taps) {
  MixerSpec m;
  m.kind = kind;
  m.state.heads = heads;
  m.state.groups = groups;
  m.state.key_dim = key;
  m.state.value_dim = value;
  m.state.conv_kernel = taps;
  return m;
}

inline MlpSpec moe(std::int32_t experts, std::int32_t per_token, std::int32_t width,
                   std::int32_t shared = 0, double skew = 0) {
  MlpSpec mlp;
  mlp.kind = MlpKind::kMoe;
  mlp.experts = experts;
  mlp.experts_per_tok = per_token;
  mlp.expert_intermediate = width;
  mlp.shared_intermediate = shared;
  mlp.routing_skew = skew;
  return mlp;
}

inline ModelSpec model_of(std::vector<LayerSpec> layers, std::int32_t hidden = 4096,
                          std::int32_t max_positions = 32768) {
  ModelSpec model;
  model.name = "a-model";
  model.hidden_size = hidden;
  model.vocab_size = 32000;
  model.max_position_embeddings = max_positions;
  model.layers = std::move(layers);
  return model;
}

// One layer of every kind.
inline ModelSpec every_kind() {
  std::vector<LayerSpec> layers;
  const auto add = [&layers](const MixerSpec& mixer, const MlpSpec& mlp) {
    layers.push_back({mixer, mlp, 2});
  };
  const LayerSpec plain = dense_layer(32, 8, 128, 14336);
  add(plain.mixer, plain.mlp);
  add(plain.mixer, moe(64, 4, 1024, 2048, 1.0));
  MixerSpec window = plain.mixer;
  window.window = 1024;
  window.sinks = true;
  add(window, plain.mlp);
  MixerSpec shared = plain.mixer;
  shared.shares_kv = true;
  MlpSpec two = plain.mlp;
  two.gated = false;
  add(shared, two);
  MixerSpec chosen = latent_mixer();
  add(chosen, moe(256, 8, 2048));
  chosen.sparse.top_k = 2048;
  chosen.sparse.index_heads = 64;
  chosen.sparse.index_head_dim = 128;
  add(chosen, moe(256, 8, 2048));
  MixerSpec compressed = plain.mixer;
  compressed.sparse.compression = 4;
  compressed.window = 128;
  compressed.values_are_keys = true;
  compressed.kv_heads = 1;
  compressed.q_lora_rank = 1024;
  compressed.output_groups = 8;
  compressed.output_lora_rank = 512;
  add(compressed, plain.mlp);
  add(state_mixer(MixerKind::kMamba2, 80, 1, 128, 64, 4), {.kind = MlpKind::kNone});
  MixerSpec gated = plain.mixer;
  gated.output_gate = gated.qk_norm = true;
  gated.head_dim = gated.v_head_dim = 256;
  add(gated, plain.mlp);
  add(state_mixer(MixerKind::kGatedDeltaNet, 32, 16, 128, 128, 4), plain.mlp);
  add(state_mixer(MixerKind::kLinearAttention, 32, 32, 128, 128, 0), plain.mlp);
  MixerSpec none;
  none.kind = MixerKind::kNone;
  add(none, plain.mlp);
  return model_of(std::move(layers));
}

}  // namespace headway
