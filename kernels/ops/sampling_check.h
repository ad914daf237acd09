#pragma once

// Host side of sampling.cuh: the double-precision reference, the checks, the registry's rows.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/ops/sampling.cuh"

namespace headway::kernels {

struct SamplingRequest {
  float temperature;
  std::int32_t top_k;
  float top_p;
  std::uint32_t uniform;
};

// The reference's token, and how far u and p are from where the token would be another: in shares
// of all weight. Nearer than a float's rounding, either token is right.
struct SampledToken {
  std::int32_t token;
  double margin;
};
inline SampledToken sample_reference(const std::vector<double>& logits,
                                     const SamplingRequest& request) {
  const auto top = std::max_element(logits.begin(), logits.end());
  if (request.temperature == 0.0f)
    return {static_cast<std::int32_t>(top - logits.begin()),
            std::numeric_limits<double>::infinity()};
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](std::int32_t i) { return logits[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return logit(a) > logit(b); });
  std::vector<double> kept(logits.size(), 0.0);
  double total = 0;
  const std::size_t k = request.top_k > 0 ? static_cast<std::size_t>(request.top_k) : order.size();
  for (std::size_t r = 0; r < order.size(); ++r) {
    if (r >= k && logit(order[r]) != logit(order[k - 1])) break;  // equals of the k-th are kept
    total += kept[static_cast<std::size_t>(order[r])] =
        std::exp((logit(order[r]) - *top) / double{request.temperature});
  }
  double margin = std::numeric_limits<double>::infinity();
  const double all = total;
  if (request.top_p < 1.0f) {
    double larger = 0, here = 0, left = 0;  // strictly larger; this value so far; kept
    for (std::size_t r = 0; r < order.size(); ++r) {
      if (r > 0 && logit(order[r]) != logit(order[r - 1])) {
        larger += here;
        here = 0;
      }
      double& weight = kept[static_cast<std::size_t>(order[r])];
      if (weight > 0)
        margin = std::min(margin, std::abs(larger - double{request.top_p} * all) / all);
      here += weight;
      if (larger >= double{request.top_p} * all) weight = 0;
      left += weight;
    }
    total = left;
  }
  const double target = request.uniform * 0x1p-32 * total;
  double up_to = 0;
  std::int32_t token = -1;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] == 0) continue;
    if (up_to <= target) token = static_cast<std::int32_t>(i);
    if (up_to > 0) margin = std::min(margin, std::abs(up_to - target) / total);
    up_to += kept[i];
  }
  return {token, margin};
}

// Tokens that differ from the reference's although u and p are not within 1e-5 of an edge.
template <class T>
CheckResult check_sampling(const std::string& what, int vocab, double deviation,
                           const std::vector<SamplingRequest>& requests) {
  TestRandom random(static_cast<std::uint64_t>(vocab));
  const auto row = static_cast<std::size_t>(vocab);
  const std::vector<T> logits = random.normals<T>(row * requests.size(), 0.0, deviation);
  std::vector<float> temperature, top_p;
  std::vector<std::int32_t> top_k;
  std::vector<std::uint32_t> uniform;
  for (const SamplingRequest& r : requests) {
    temperature.push_back(r.temperature);
    top_k.push_back(r.top_k);
    top_p.push_back(r.top_p);
    uniform.push_back(r.uniform);
  }
  DeviceBuffer<T> device_logits(logits);
  DeviceBuffer<float> device_temperature(temperature), device_p(top_p);
  DeviceBuffer<std::int32_t> device_k(top_k), tokens(requests.size());
  DeviceBuffer<std::uint32_t> device_uniform(uniform);
  sample<T>({device_logits.data(), device_temperature.data(), device_k.data(), device_p.data(),
             device_uniform.data(), tokens.data(), vocab},
            static_cast<int>(requests.size()), {});
  const std::vector<std::int32_t> got = tokens.download();
  int wrong = 0;
  for (std::size_t s = 0; s < requests.size(); ++s) {
    std::vector<double> values(row);
    for (std::size_t i = 0; i < row; ++i) values[i] = to_f(logits[s * row + i]);
    const SampledToken want = sample_reference(values, requests[s]);
    if (got[s] != want.token && want.margin > 1e-5) ++wrong;
  }
  return {std::string(kTypeName<T>) + ", vocabulary " + std::to_string(vocab) + ", " + what +
              ": wrong tokens of " + std::to_string(requests.size()),
          double(wrong), 0.0};
}

inline std::vector<SamplingRequest> sampling_requests(float temperature, std::int32_t k, float p,
                                                      int count) {
  TestRandom random(static_cast<std::uint64_t>(k) + 5);
  std::vector<SamplingRequest> requests;
  for (int i = 0; i < count; ++i)
    requests.push_back({temperature, k, p, static_cast<std::uint32_t>(random.bits() >> 32)});
  return requests;
}

template <class T>
std::vector<CheckResult> check_greedy_sampling() {
  return {check_sampling<T>("none", 100, 2, {}),
          check_sampling<T>("greedy", 5003, 2, sampling_requests(0, 0, 1, 2)),
          check_sampling<T>("greedy, one token", 1, 2, sampling_requests(0, 0, 1, 1))};
}

// Both versions of the kernel; ties (bf16 has few values); u at both ends; vocabularies that no
// 16-byte load divides, smaller than the block and, in bf16, as large as models have.
template <class T>
std::vector<CheckResult> check_top_k_top_p_sampling() {
  std::vector<CheckResult> results;
  const auto add = [&](const char* what, int vocab, const std::vector<SamplingRequest>& requests,
                       double deviation = 2) {
    results.push_back(check_sampling<T>(what, vocab, deviation, requests));
  };
  add("top-k 64, top-p 0.7", 77, sampling_requests(1.5f, 64, 0.7f, 3));
  add("top-p 0.9", 1501, sampling_requests(1, 0, 0.9f, 1));
  if constexpr (std::is_same_v<T, bf16>) {
    add("top-k 50, top-p 0.9", 32000, sampling_requests(0.8f, 50, 0.9f, 1));
    add("top-k 20", 151937, sampling_requests(1, 20, 1, 1));
    add("top-k 1500, top-p 0.9", 2000, sampling_requests(1, 1500, 0.9f, 1));
  }
  if constexpr (std::is_same_v<T, float>) {
    add("top-k 1", 77, sampling_requests(1, 1, 0.5f, 1));
    add("top-k 1000, logits near each other", 2500, sampling_requests(1, 1000, 0.95f, 1), 0.001);
    add("top-k 1500", 2000, sampling_requests(1, 1500, 1, 1));
    add("top-p 1e-9", 515, sampling_requests(1, 0, 1e-9f, 1));
    add("plain", 2048, sampling_requests(0.7f, 0, 1, 1));
    add("plain, one token", 1, sampling_requests(0.7f, 0, 1, 1));
    add("u 0 and nearly 1", 300,
        {{1, 30, 0.8f, 0u}, {1, 30, 0.8f, 0xffffffffu}, {1, 0, 1, 0u}, {1, 0, 1, 0xffffffffu}});
  }
  return results;
}

template <class T>
class PreparedSampling : public Prepared {
 public:
  PreparedSampling(int vocab, int sequences, bool greedy, std::uint64_t seed)
      : vocab_(vocab),
        sequences_(sequences),
        logits_(static_cast<std::size_t>(vocab) * static_cast<std::size_t>(sequences)),
        temperature_(std::vector<float>(static_cast<std::size_t>(sequences), greedy ? 0.0f : 0.8f)),
        top_p_(std::vector<float>(static_cast<std::size_t>(sequences), 0.95f)),
        top_k_(std::vector<std::int32_t>(static_cast<std::size_t>(sequences), 50)),
        tokens_(static_cast<std::size_t>(sequences)),
        uniform_(static_cast<std::size_t>(sequences)) {
    fill_normal(logits_.data(), logits_.size(), static_cast<std::uint32_t>(seed), 0.0f, 2.0f);
    fill_bits(uniform_.data(), uniform_.size(), static_cast<std::uint32_t>(seed) + 1);
  }
  void launch(int /*copy*/, Stream stream) override {
    sample<T>({logits_.data(), temperature_.data(), top_k_.data(), top_p_.data(), uniform_.data(),
               tokens_.data(), vocab_},
              sequences_, stream);
  }

 private:
  int vocab_, sequences_;
  DeviceBuffer<T> logits_;
  DeviceBuffer<float> temperature_, top_p_;
  DeviceBuffer<std::int32_t> top_k_, tokens_;
  DeviceBuffer<std::uint32_t> uniform_;
};

// Timed with temperature 0.8, top-k 50, top-p 0.95.
template <class T>
KernelEntry sampling_entry(const char* dtype, bool greedy) {
  KernelEntry entry;
  entry.name = "sampling";
  entry.op = "sampling";
  entry.impl = "own";
  entry.variant = {{"dtype", dtype}, {"method", greedy ? "greedy" : "top_k_top_p"}};
  entry.check = greedy ? check_greedy_sampling<T> : check_top_k_top_p_sampling<T>;
  entry.work = [](const Case& c) {  // vocab, sequences
    const double logits = 1.0 * static_cast<double>(c.key[0]) * static_cast<double>(c.key[1]);
    return Work{4 * logits, logits * sizeof(T), 0, logits * sizeof(T)};
  };
  entry.prepare = [greedy](const Case& c, int /*copies*/,
                           std::uint64_t seed) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedSampling<T>>(static_cast<int>(c.key[0]),
                                                 static_cast<int>(c.key[1]), greedy, seed);
  };
  return entry;
}

inline void register_sampling(std::vector<KernelEntry>& table) {
  for (bool greedy : {false, true}) {
    table.push_back(sampling_entry<float>("fp32", greedy));
    table.push_back(sampling_entry<bf16>("bf16", greedy));
    table.push_back(sampling_entry<f16>("fp16", greedy));
  }
}

}  // namespace headway::kernels
