#include "sim/replica/rejection_sampling.h"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"

namespace headway {
namespace {

// What is left of the target once the draft has had its share. Not normalised.
std::vector<double> residual(std::span<const double> draft, std::span<const double> target) {
  std::vector<double> rest(target.size());
  for (std::size_t i = 0; i < target.size(); ++i) rest[i] = std::max(target[i] - draft[i], 0.0);
  return rest;
}

}  // namespace

std::vector<double> softmax(std::span<const double> logits, double temperature) {
  SIM_CHECK(!logits.empty() && temperature >= 0.0);
  const auto top = std::max_element(logits.begin(), logits.end());
  std::vector<double> p(logits.size(), 0.0);
  if (temperature == 0.0) {
    p[static_cast<std::size_t>(top - logits.begin())] = 1.0;
    return p;
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += p[i] = std::exp((logits[i] - *top) / temperature);
  for (double& x : p) x /= sum;
  return p;
}

std::int32_t draw(std::span<const double> distribution, RandomStream& random) {
  double sum = 0.0;
  for (double p : distribution) sum += p;
  double left = random.uniform() * sum;
  std::int32_t last = 0;  // rounding may leave a crumb: the last possible token takes it
  for (std::size_t i = 0; i < distribution.size(); ++i) {
    if (distribution[i] <= 0.0) continue;
    last = static_cast<std::int32_t>(i);
    if (left < distribution[i]) return last;
    left -= distribution[i];
  }
  return last;
}

double acceptance_probability(std::span<const double> draft, std::span<const double> target) {
  double overlap = 0.0;
  for (std::size_t i = 0; i < draft.size(); ++i) overlap += std::min(draft[i], target[i]);
  return overlap;
}

TokenVerdict verify_token(std::int32_t drafted, std::span<const double> draft,
                      std::span<const double> target, RandomStream& random) {
  const auto i = static_cast<std::size_t>(drafted);
  SIM_CHECK(i < draft.size() && draft.size() == target.size() && draft[i] > 0.0,
            "a drafted token has a probability under its own draft");
  if (random.uniform() * draft[i] < target[i]) return {true, drafted};
  return {false, draw(residual(draft, target), random)};
}

std::vector<std::int32_t> verify(std::span<const std::int32_t> drafted,
                                 std::span<const std::vector<double>> draft,
                                 std::span<const std::vector<double>> target, RandomStream& random) {
  SIM_CHECK(draft.size() == drafted.size() && target.size() == drafted.size() + 1);
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < drafted.size(); ++i) {
    const TokenVerdict v = verify_token(drafted[i], draft[i], target[i], random);
    out.push_back(v.token);
    if (!v.accepted) return out;
  }
  out.push_back(draw(target[drafted.size()], random));
  return out;
}

}  // namespace headway
