#include "sim/replica/rejection_sampling.h"

#include <cmath>

#include "tests/support/catch.h"

using namespace headway;

namespace {

// Upper limit of a chi-square statistic with `df` degrees of freedom at about p = 1e-4
// (Wilson and Hilferty 1931: the cube root is nearly normal).
double chi_square_limit(double df) {
  const double z = 3.719, a = 2.0 / (9.0 * df);
  return df * std::pow(1.0 - a + z * std::sqrt(a), 3);
}

struct ChiSquare {
  double statistic, limit;
};

// Cells that expect fewer than 5 are pooled.
ChiSquare chi_square(const std::vector<std::int64_t>& counts, const std::vector<double>& p) {
  std::int64_t n = 0;
  for (std::int64_t c : counts) n += c;
  double statistic = 0, pooled_expected = 0, pooled_count = 0;
  int cells = 0;
  const auto add = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double expected = p[i] * static_cast<double>(n);
    if (expected >= 5.0) {
      add(static_cast<double>(counts[i]), expected);
    } else {
      pooled_expected += expected;
      pooled_count += static_cast<double>(counts[i]);
    }
  }
  if (pooled_expected > 0) add(pooled_count, pooled_expected);
  return {statistic, chi_square_limit(cells - 1)};
}

std::vector<double> random_distribution(std::size_t vocabulary, double temperature,
                                        RandomStream& random) {
  std::vector<double> logits(vocabulary);
  for (double& x : logits) x = random.normal(0.0, 2.0);
  return softmax(logits, temperature);
}

}  // namespace

TEST_CASE("two tokens: the output is the target's, by the lecture's arithmetic", "[unit][speculation]") {
  // p(A) > q(A): A is over-drafted. P[A] = p(A) * q(A) / p(A) = q(A); the residual is all on B.
  const std::vector<double> p{0.8, 0.2}, q{0.5, 0.5};
  CHECK(acceptance_probability(p, q) == Approx(0.5 + 0.2));
  RandomStream random(1, "lecture");
  std::int64_t a = 0, accepted = 0, accepted_b = 0, drafted_b = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const std::int32_t drafted = draw(p, random);
    const TokenVerdict v = verify_token(drafted, p, q, random);
    a += v.token == 0;
    accepted += v.accepted;
    drafted_b += drafted == 1;
    accepted_b += drafted == 1 && v.accepted;
    if (!v.accepted) REQUIRE(v.token == 1);
  }
  CHECK(accepted_b == drafted_b);  // q(B) > p(B): never refused
  const double sigma = std::sqrt(0.25 / kDraws);
  CHECK(std::abs(a / double(kDraws) - 0.5) < 4 * sigma);
  CHECK(std::abs(accepted / double(kDraws) - 0.7) < 4 * sigma);
}

TEST_CASE("the verified token is distributed as the target", "[unit][speculation]") {
  for (const std::size_t vocabulary :
       {std::size_t{2}, std::size_t{50}, std::size_t{1000}, std::size_t{32'000}}) {
    for (const double temperature : {0.5, 1.0}) {
      RandomStream random(7, "chi-square", vocabulary);
      const std::vector<double> draft = random_distribution(vocabulary, temperature, random);
      const std::vector<double> target = random_distribution(vocabulary, temperature, random);
      // Drawing walks the vocabulary, so large ones get fewer draws.
      const int draws = vocabulary > 10'000 ? 4'000 : 60'000;
      std::vector<std::int64_t> counts(vocabulary);
      std::int64_t accepted = 0;
      for (int i = 0; i < draws; ++i) {
        const TokenVerdict v = verify_token(draw(draft, random), draft, target, random);
        ++counts[static_cast<std::size_t>(v.token)];
        accepted += v.accepted;
      }
      const ChiSquare test = chi_square(counts, target);
      INFO("vocabulary " << vocabulary << ", temperature " << temperature);
      CHECK(test.statistic < test.limit);
      const double overlap = acceptance_probability(draft, target);
      CHECK(std::abs(accepted / double(draws) - overlap) <
            4 * std::sqrt(overlap * (1 - overlap) / draws));
    }
  }
}

TEST_CASE("k drafts: every position's marginal is the target's, whatever k", "[unit][speculation]") {
  constexpr std::size_t kVocabulary = 6;
  for (const int k : {1, 2, 4, 8}) {
    RandomStream random(11, "k drafts", static_cast<std::uint64_t>(k));
    // Position-wise distributions that do not depend on the drafts before: marginals are known.
    std::vector<std::vector<double>> draft, target;
    for (int i = 0; i <= k; ++i) {
      target.push_back(random_distribution(kVocabulary, 1.0, random));
      if (i < k) draft.push_back(random_distribution(kVocabulary, 1.0, random));
    }
    std::vector<std::vector<std::int64_t>> counts(target.size(), std::vector<std::int64_t>(kVocabulary));
    std::int64_t emitted = 0;
    constexpr int kRuns = 40'000;
    for (int run = 0; run < kRuns; ++run) {
      std::vector<std::int32_t> drafted;
      for (const auto& p : draft) drafted.push_back(draw(p, random));
      const std::vector<std::int32_t> out = verify(drafted, draft, target, random);
      REQUIRE(!out.empty());
      REQUIRE(out.size() <= static_cast<std::size_t>(k) + 1);
      emitted += static_cast<std::int64_t>(out.size());
      for (std::size_t i = 0; i < out.size(); ++i) ++counts[i][static_cast<std::size_t>(out[i])];
    }
    double reach = 1.0, expected_length = 1.0;
    for (std::size_t i = 0; i < draft.size(); ++i) {
      reach *= acceptance_probability(draft[i], target[i]);
      expected_length += reach;
    }
    INFO("k = " << k);
    CHECK(emitted / double(kRuns) == Approx(expected_length).epsilon(0.02));
    for (std::size_t i = 0; i < target.size(); ++i) {
      std::int64_t n = 0;
      for (std::int64_t c : counts[i]) n += c;
      if (n < 500) continue;  // reached too seldom to test
      const ChiSquare test = chi_square(counts[i], target[i]);
      CHECK(test.statistic < test.limit);
    }
  }
}

TEST_CASE("temperature 0 is greedy: accepted exactly when both agree on the top token",
          "[unit][speculation]") {
  RandomStream random(3, "greedy");
  const std::vector<double> target = softmax(std::vector<double>{1.0, 4.0, 2.0}, 0.0);
  const std::vector<double> same = softmax(std::vector<double>{0.0, 9.0, 8.0}, 0.0);
  const std::vector<double> other = softmax(std::vector<double>{7.0, 1.0, 0.0}, 0.0);
  CHECK(acceptance_probability(same, target) == 1.0);
  CHECK(acceptance_probability(other, target) == 0.0);
  CHECK(verify_token(1, same, target, random).accepted);
  const TokenVerdict refused = verify_token(0, other, target, random);
  CHECK_FALSE(refused.accepted);
  CHECK(refused.token == 1);
}
