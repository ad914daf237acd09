#pragma once

// Norm, rotation, activation, KV write, embedding, the largest logit.
#include "kernels/cpu/cpu_ops.h"
#include "kernels/cpu/lanes.h"

namespace headway::kernels::cpu::HEADWAY_CPU_ISA {

inline float inverse_root(float x) {
#if HEADWAY_CPU_AVX2
  return 1.0F / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
#else
  return 1.0F / __builtin_sqrtf(x);
#endif
}

inline void rmsnorm(const float* x, float* residual, const Bf16* weight, float* out,
                    std::int64_t rows, std::int64_t width, float epsilon) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* from = x + row * width;
    Lanes squares = splat(0);
    if (residual != nullptr) {
      float* stream = residual + row * width;
      for (std::int64_t i = 0; i < width; i += kLanes) {
        const Lanes both = load(from + i) + load(stream + i);
        store(stream + i, both);
        squares = fma(both, both, squares);
      }
      from = stream;
    } else {
      for (std::int64_t i = 0; i < width; i += kLanes) {
        const Lanes a = load(from + i);
        squares = fma(a, a, squares);
      }
    }
    const Lanes scale =
        splat(inverse_root(sum(squares) / static_cast<float>(width) + epsilon));
    for (std::int64_t i = 0; i < width; i += kLanes) {
      store(out + row * width + i, load(from + i) * scale * load(weight + i));
    }
  }
}

inline void rope(float* rows, std::int64_t stride, const std::int32_t* positions,
                 std::int64_t count, std::int32_t heads, std::int32_t head_dim,
                 const float* table) {
  const std::int32_t half = head_dim / 2;
  for (std::int64_t row = 0; row < count; ++row) {
    const float* cosines = table + static_cast<std::int64_t>(positions[row]) * head_dim;
    const float* sines = cosines + half;
    for (std::int32_t head = 0; head < heads; ++head) {
      float* a = rows + row * stride + static_cast<std::int64_t>(head) * head_dim;
      float* b = a + half;
      std::int32_t i = 0;
      for (; i + kLanes <= half; i += kLanes) {
        const Lanes x = load(a + i), y = load(b + i), c = load(cosines + i), s = load(sines + i);
        store(a + i, fma(x, c, y * s * splat(-1)));
        store(b + i, fma(x, s, y * c));
      }
      for (; i < half; ++i) {
        const float x = a[i], y = b[i];
        a[i] = x * cosines[i] - y * sines[i];
        b[i] = x * sines[i] + y * cosines[i];
      }
    }
  }
}

inline void silu_mul(const float* gate_up, float* out, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* gate = gate_up + row * 2 * width;
    const float* up = gate + width;
    for (std::int64_t i = 0; i < width; i += kLanes) {
      const Lanes g = load(gate + i);
      // Beyond 88 the exponential overflows, and g / (1 + e^-g) is 0 to all digits anyway.
      const Lanes e = exponential(smaller(g * splat(-1), splat(88.0F)));
      store(out + row * width + i, g / (splat(1) + e) * load(up + i));
    }
  }
}

inline void kv_write(const float* k, const float* v, std::int64_t stride,
                     const std::int64_t* slots, std::int64_t rows, const KvCache& cache) {
  const KvLayout& layout = cache.layout;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t page = slots[row] / layout.page;
    const auto token = static_cast<std::int32_t>(slots[row] % layout.page);
    const std::int32_t place = token % kPanel;
    for (std::int32_t head = 0; head < layout.kv_heads; ++head) {
      const std::size_t tile = layout.offset(page, head, token);
      const float* key = k + row * stride + static_cast<std::int64_t>(head) * layout.head_dim;
      const float* value = v + row * stride + static_cast<std::int64_t>(head) * layout.head_dim;
      Bf16* keys = cache.keys + tile + place;
      Bf16* values = cache.values + tile + static_cast<std::size_t>(place) * layout.head_dim;
      for (std::int32_t i = 0; i < layout.head_dim; ++i) {
        keys[static_cast<std::size_t>(i) * kPanel] = narrow(key[i]);
        values[i] = narrow(value[i]);
      }
    }
  }
}

inline void embed(const Bf16* table, const std::int32_t* tokens, std::int64_t rows,
                  std::int64_t width, float* out) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const Bf16* from = table + static_cast<std::int64_t>(tokens[row]) * width;
    for (std::int64_t i = 0; i < width; i += kLanes) store(out + row * width + i, load(from + i));
  }
}

inline void argmax(const float* logits, std::int64_t rows, std::int64_t width, std::int32_t* out) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* from = logits + row * width;
    Lanes top = load(from);
    for (std::int64_t i = kLanes; i < width; i += kLanes) top = larger(top, load(from + i));
    const float most = largest(top);
    std::int32_t i = 0;
    while (i + 1 < width && from[i] != most) ++i;
    out[row] = i;
  }
}

}  // namespace headway::kernels::cpu::HEADWAY_CPU_ISA
