#include "kernels/cpu/reference.h"

#include <algorithm>
#include <cmath>

namespace headway::kernels::cpu::reference {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

Doubles matmul(std::span<const float> x, std::span<const Bf16> w, std::int64_t m, std::int64_t n,
               std::int64_t k) {
  Doubles y(at(m * n));
  for (std::int64_t r = 0; r < m; ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i)
        sum += double{x[at(r * k + i)]} * widen(w[at(c * k + i)]);
      y[at(r * n + c)] = sum;
    }
  }
  return y;
}

Doubles rmsnorm(std::span<const float> x, Doubles& residual, std::span<const Bf16> weight,
                std::int64_t rows, std::int64_t width, double epsilon) {
  Doubles y(at(rows * width));
  for (std::int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::int64_t i = r * width; i < (r + 1) * width; ++i) {
      y[at(i)] = x[at(i)];
      if (!residual.empty()) y[at(i)] = residual[at(i)] += x[at(i)];
      squares += y[at(i)] * y[at(i)];
    }
    const double rms = std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (std::int64_t i = 0; i < width; ++i) y[at(r * width + i)] *= widen(weight[at(i)]) / rms;
  }
  return y;
}

Doubles rope(std::span<const float> x, std::span<const std::int32_t> positions, std::int64_t heads,
             std::int64_t head_dim, double theta) {
  Doubles y(x.size());
  const std::int64_t half = head_dim / 2;
  for (std::int64_t row = 0; row < std::ssize(positions); ++row) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t base = (row * heads + head) * head_dim;
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle =
            positions[at(row)] /
            std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
        const double a = x[at(base + i)], b = x[at(base + i + half)];
        y[at(base + i)] = a * std::cos(angle) - b * std::sin(angle);
        y[at(base + i + half)] = a * std::sin(angle) + b * std::cos(angle);
      }
    }
  }
  return y;
}

Doubles silu_mul(std::span<const float> gate_up, std::int64_t rows, std::int64_t width) {
  Doubles y(at(rows * width));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < width; ++i) {
      const double gate = gate_up[at(r * 2 * width + i)],
                   up = gate_up[at(r * 2 * width + width + i)];
      y[at(r * width + i)] = gate / (1 + std::exp(-gate)) * up;
    }
  }
  return y;
}

Doubles attention(std::span<const float> q, std::span<const float> k, std::span<const float> v,
                  std::int64_t count, std::int64_t context, std::int64_t heads,
                  std::int64_t kv_heads, std::int64_t dim, double scale) {
  Doubles out(at(count * heads * dim));
  for (std::int64_t query = 0; query < count; ++query) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t kv_head = head / (heads / kv_heads), tokens = context + query + 1;
      Doubles scores(at(tokens));
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t i = 0; i < dim; ++i) {
          scores[at(t)] += scale * q[at((query * heads + head) * dim + i)] *
                           k[at((t * kv_heads + kv_head) * dim + i)];
        }
      }
      const double top = *std::max_element(scores.begin(), scores.end());
      double total = 0;
      for (double& s : scores) total += s = std::exp(s - top);
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t i = 0; i < dim; ++i) {
          out[at((query * heads + head) * dim + i)] +=
              scores[at(t)] / total * v[at((t * kv_heads + kv_head) * dim + i)];
        }
      }
    }
  }
  return out;
}

double relative_error(std::span<const float> got, std::span<const double> expected) {
  double error = 0, top = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(got[i] - expected[i]);
    if (!(difference <= error)) error = difference;  // a NaN stays
    top = std::max(top, std::abs(expected[i]));
  }
  return error / std::max(top, 1e-30);
}

}  // namespace headway::kernels::cpu::reference
