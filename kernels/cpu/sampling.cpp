#include "kernels/cpu/sampling.h"

#include <algorithm>
#include <cmath>

namespace headway::kernels::cpu {
namespace {

// Likeliest first; of equals the lower token.
bool ahead(const RankedToken& a, const RankedToken& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
}

}  // namespace

std::int32_t sample_top_k_top_p(std::span<const float> logits, const SamplingOptions& options,
                                double uniform, std::vector<RankedToken>& buffer) {
  const float top = *std::max_element(logits.begin(), logits.end());
  buffer.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float weight = std::exp((logits[i] - top) / options.temperature);
    buffer.push_back({weight, static_cast<std::int32_t>(i)});
  }
  if (options.top_k > 0 && static_cast<std::size_t>(options.top_k) < buffer.size()) {
    const auto cut = buffer.begin() + options.top_k;
    std::nth_element(buffer.begin(), cut, buffer.end(), ahead);
    buffer.erase(cut, buffer.end());
  }
  double total = 0;
  for (const RankedToken& t : buffer) total += t.weight;
  if (options.top_p < 1) {
    std::sort(buffer.begin(), buffer.end(), ahead);
    const double goal = options.top_p * total;
    double sum = 0;
    std::size_t kept = 0;
    while (kept < buffer.size() && (kept == 0 || sum < goal)) sum += buffer[kept++].weight;
    buffer.resize(kept);
    total = sum;
  }
  double left = uniform * total;
  for (const RankedToken& t : buffer) {
    left -= t.weight;
    if (left < 0) return t.token;
  }
  return buffer.back().token;
}

}  // namespace headway::kernels::cpu
