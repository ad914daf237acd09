#include "kernels/ops/rejection_verify.cuh"

#include <cstdint>
#include <vector>

#include "kernels/rt/emulator.h"
#include "sim/core/random.h"
#include "sim/replica/rejection_sampling.h"
#include "tests/support/catch.h"

using namespace headway;
using namespace headway::kernels;

namespace {

std::vector<double> row_of(const std::vector<float>& values, int row, int vocab) {
  const auto first = values.begin() + row * vocab;
  return {first, first + vocab};
}

// What sim/replica/rejection_sampling.h makes of sequence s with this stream's numbers.
std::vector<std::int32_t> simulated(const VerifyData& in, int s, RandomStream random) {
  const int count = in.counts[static_cast<std::size_t>(s)];
  std::vector<std::int32_t> drafted;
  std::vector<std::vector<double>> draft, target;
  for (int i = 0; i < count; ++i) {
    drafted.push_back(in.drafts[static_cast<std::size_t>(s * in.max_drafts + i)]);
    draft.push_back(row_of(in.draft_p, s * in.max_drafts + i, in.vocab));
  }
  for (int i = 0; i <= count; ++i)
    target.push_back(row_of(in.target_p, s * (in.max_drafts + 1) + i, in.vocab));
  return verify(drafted, draft, target, random);
}

}  // namespace

TEST_CASE("The kernel verifies drafts as the simulator's rejection sampling does",
          "[unit][kernels]") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u);
  const double agreement = GENERATE(0.0, 0.6, 0.95);
  VerifyData in(12, 4, 50, agreement, seed);
  std::vector<std::vector<std::int32_t>> want;
  for (int s = 0; s < in.batch; ++s) {
    const RandomStream random(seed, "verify", static_cast<std::uint64_t>(s));
    want.push_back(simulated(in, s, random));
    // The same numbers for the kernel: one for every test made, then one for the draw.
    RandomStream same = random;
    const auto drafts = static_cast<std::size_t>(in.counts[static_cast<std::size_t>(s)]);
    const std::size_t accepted = want.back().size() - 1;
    const std::size_t tests = accepted < drafts ? accepted + 1 : drafts;
    for (std::size_t i = 0; i < tests; ++i)
      in.accept_bits[static_cast<std::size_t>(s * in.max_drafts) + i] =
          static_cast<std::uint32_t>(same.uniform() * 0x1p32);
    in.draw_bits[static_cast<std::size_t>(s)] = static_cast<std::uint32_t>(same.uniform() * 0x1p32);
  }
  const Verified got = run_rejection_verify(in);
  int tokens = 0;
  for (std::size_t s = 0; s < want.size(); ++s) {
    CHECK(got.accepted[s] == static_cast<std::int32_t>(want[s].size()) - 1);
    std::vector<std::int32_t> padded = want[s];
    padded.resize(5, -1);
    CHECK(std::vector<std::int32_t>(got.tokens.begin() + static_cast<long>(s) * 5,
                                    got.tokens.begin() + static_cast<long>(s + 1) * 5) == padded);
    tokens += static_cast<int>(want[s].size());
  }
  if (agreement > 0.9)
    CHECK(tokens > 3 * in.batch);  // most drafts were accepted, so all cases were met
}
