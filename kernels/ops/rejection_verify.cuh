#pragma once

// Verifying drafted tokens by speculative (rejection) sampling, for a batch of sequences.
//
//   draft i of a sequence is accepted while u[i] * draft_p[i][token] < target_p[i][token]
//   at the first that is not: the token is drawn from max(target_p[i] - draft_p[i], 0), normalised
//   if all are accepted:      one more token is drawn from target_p[drafts]
//
// The rule, its proof and its sources (Leviathan et al.; Chen et al., 2023) are sim/replica/
// rejection_sampling.h; a test compares this kernel with that code, uniform number by uniform
// number.
//
// Version: one block a sequence. The lanes of a warp test all drafts at once and a ballot finds the
// first rejection; only that position's rows are then read, for one draw (block_draw.cuh). Weights
// of the draw are fixed point of 2^-40, so the token does not depend on the order of threads.
//
// Bytes: 2 * 4 * vocab a sequence (one row of each distribution). FLOPs: 2 a vocabulary entry.
// Memory- and latency-bound.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/ops/block_draw.cuh"
#include "kernels/ops/fill.cuh"
#include "kernels/ops/test_data.h"
#include "kernels/registry.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

constexpr int kMaxDrafts = 32;

// Device pointers; T is float. Rows of distributions sum to 1; a drafted token has a draft
// probability above 0.
template <class T>
struct RejectionVerifyArgs {
  const std::int32_t* drafts;        // [batch][max_drafts]
  const std::int32_t* counts;        // [batch]: drafts of each sequence, 0 .. max_drafts
  const T* draft_p;                  // [batch][max_drafts][vocab]
  const T* target_p;                 // [batch][max_drafts + 1][vocab]
  const std::uint32_t* accept_bits;  // [batch][max_drafts]: u = upper 24 bits / 2^24
  const std::uint32_t* draw_bits;    // [batch]: u of the draw = bits / 2^32
  std::int32_t* accepted;            // out, [batch]
  std::int32_t* tokens;              // out, [batch][max_drafts + 1]: accepted + 1 tokens, then -1
  int max_drafts, vocab;
};

template <class T>
__global__ void __launch_bounds__(draw::kThreads, 1)
    rejection_verify_kernel(RejectionVerifyArgs<T> args) {
  SHARED(draw::Mass, scratch, draw::kWarps);
  const int sequence = blockIdx.x, thread = threadIdx.x, lane = thread % 32;
  const int count = args.counts[sequence];
  const std::int64_t first = std::int64_t{sequence} * args.max_drafts;
  const T* target = args.target_p + (first + sequence) * args.vocab;
  const T* draft = args.draft_p + first * args.vocab;

  // Every warp tests the drafts for itself: cheaper than telling the others.
  bool rejected = false;
  std::int32_t token = -1;
  if (lane < count) {
    token = args.drafts[first + lane];
    const float u = static_cast<float>(args.accept_bits[first + lane] >> 8) * 0x1p-24f;
    const std::int64_t at = std::int64_t{lane} * args.vocab + token;
    rejected = !(u * draft[at] < target[at]);
  }
  const unsigned rejections = __ballot_sync(draw::kAll, rejected);
  const int accepted = rejections == 0 ? count : __ffs(static_cast<int>(rejections)) - 1;

  target += std::int64_t{accepted} * args.vocab;
  draft += std::int64_t{accepted} * args.vocab;
  const auto whole = [&](int i) { return draw::mass_of(target[i]); };
  const auto rest = [&](int i) {
    const float left = target[i] - draft[i];
    return left > 0.0f ? draw::mass_of(left) : draw::Mass{0};
  };
  const std::uint32_t bits = args.draw_bits[sequence];
  int drawn = -1;
  if (accepted < count) drawn = draw::block_draw(rest, args.vocab, bits, scratch);
  // All accepted; or the two distributions agree to within 2^-40, and the rest of one is no rest.
  if (drawn < 0) drawn = draw::block_draw(whole, args.vocab, bits, scratch);

  if (thread == 0) args.accepted[sequence] = accepted;
  if (thread <= args.max_drafts)
    args.tokens[first + sequence + thread] = thread < accepted    ? token
                                             : thread == accepted ? drawn
                                                                  : -1;
}

// REQUIRES: max_drafts <= kMaxDrafts - 1, so that the first warp writes all tokens.
template <class T>
void rejection_verify(const RejectionVerifyArgs<T>& args, int batch, Stream stream) {
  if (batch == 0) return;
  launch(rejection_verify_kernel<T>, dim3(static_cast<unsigned>(batch)), dim3(draw::kThreads), 0,
         stream, args);
}

// --- Check -------------------------------------------------------------------------------------

// What a host knows of a batch: distributions, drafts and random bits.
struct VerifyData {
  VerifyData(int batch_, int max_drafts_, int vocab_, double agreement, std::uint64_t seed)
      : batch(batch_), max_drafts(max_drafts_), vocab(vocab_) {
    TestRandom random(seed);
    for (int s = 0; s < batch; ++s) {
      counts.push_back(s % (max_drafts + 1) == 1 ? 0 : max_drafts - s % 2);
      if (counts.back() < 0) counts.back() = 0;
      draw_bits.push_back(static_cast<std::uint32_t>(random.bits() >> 32));
      for (int i = 0; i <= max_drafts; ++i) {
        const std::vector<double> target = distribution(random, {}, 0.0);
        target_p.insert(target_p.end(), target.begin(), target.end());
        if (i == max_drafts) break;
        const std::vector<double> draft = distribution(random, target, agreement);
        draft_p.insert(draft_p.end(), draft.begin(), draft.end());
        double left = random.uniform();
        std::int32_t token = 0;
        while (token + 1 < vocab && left >= draft[static_cast<std::size_t>(token)])
          left -= draft[static_cast<std::size_t>(token++)];
        drafts.push_back(token);
        accept_bits.push_back(static_cast<std::uint32_t>(random.bits() >> 32));
      }
    }
  }
  // softmax of normals, mixed with `other` in the share `agreement`; rounded to float.
  std::vector<double> distribution(TestRandom& random, const std::vector<double>& other,
                                   double agreement) const {
    std::vector<double> p(static_cast<std::size_t>(vocab));
    double sum = 0;
    for (double& x : p) sum += x = std::exp(2 * random.normal());
    for (std::size_t i = 0; i < p.size(); ++i) {
      p[i] /= sum;
      if (!other.empty()) p[i] = agreement * other[i] + (1 - agreement) * p[i];
      p[i] = static_cast<float>(p[i]);
    }
    return p;
  }
  int batch, max_drafts, vocab;
  std::vector<std::int32_t> drafts, counts;
  std::vector<float> draft_p, target_p;
  std::vector<std::uint32_t> accept_bits, draw_bits;
};

struct Verified {
  std::vector<std::int32_t> accepted, tokens;
};
inline Verified run_rejection_verify(const VerifyData& in) {
  DeviceBuffer<std::int32_t> drafts(in.drafts), counts(in.counts);
  DeviceBuffer<float> draft_p(in.draft_p), target_p(in.target_p);
  DeviceBuffer<std::uint32_t> accept_bits(in.accept_bits), draw_bits(in.draw_bits);
  DeviceBuffer<std::int32_t> accepted(in.counts.size()),
      tokens(in.counts.size() * static_cast<std::size_t>(in.max_drafts + 1));
  rejection_verify<float>(
      {drafts.data(), counts.data(), draft_p.data(), target_p.data(), accept_bits.data(),
       draw_bits.data(), accepted.data(), tokens.data(), in.max_drafts, in.vocab},
      in.batch, {});
  return {accepted.download(), tokens.download()};
}

// The double-precision reference. `near`: for each sequence, whether a decision was nearer than
// 1e-6 to its edge, where a float may decide otherwise.
inline Verified verify_reference(const VerifyData& in, std::vector<bool>& near) {
  Verified out;
  near.assign(static_cast<std::size_t>(in.batch), false);
  const auto row = static_cast<std::size_t>(in.vocab),
             most = static_cast<std::size_t>(in.max_drafts);
  for (std::size_t s = 0; s < static_cast<std::size_t>(in.batch); ++s) {
    const auto count = static_cast<std::size_t>(in.counts[s]);
    std::size_t accepted = 0;
    for (; accepted < count; ++accepted) {
      const auto token = static_cast<std::size_t>(in.drafts[s * most + accepted]);
      const double q = in.draft_p[(s * most + accepted) * row + token];
      const double p = in.target_p[(s * (most + 1) + accepted) * row + token];
      const double u = (in.accept_bits[s * most + accepted] >> 8) * 0x1p-24;
      if (std::abs(u * q - p) < 1e-6 * p) near[s] = true;
      if (!(u * q < p)) break;
      out.tokens.push_back(static_cast<std::int32_t>(token));
    }
    std::vector<double> weights(row);
    double total = 0, up_to = 0;
    for (std::size_t i = 0; i < row; ++i) {
      weights[i] = in.target_p[(s * (most + 1) + accepted) * row + i];
      if (accepted < count)
        weights[i] = std::max(weights[i] - in.draft_p[(s * most + accepted) * row + i], 0.0);
      total += weights[i];
    }
    const double target = in.draw_bits[s] * 0x1p-32 * total;
    std::int32_t drawn = -1;
    for (std::size_t i = 0; i < row; ++i) {
      if (weights[i] > 0 && up_to <= target) drawn = static_cast<std::int32_t>(i);
      if (up_to > 0 && std::abs(up_to - target) < 1e-6 * total) near[s] = true;
      up_to += weights[i];
    }
    out.accepted.push_back(static_cast<std::int32_t>(accepted));
    out.tokens.push_back(drawn);
    out.tokens.resize((s + 1) * (most + 1), -1);
  }
  return out;
}

inline std::vector<CheckResult> check_rejection_verify() {
  struct Shape {
    int batch, drafts, vocab;
    double agreement;  // of draft and target: how much is accepted
  };
  std::vector<CheckResult> results;
  for (const Shape& s :
       {Shape{0, 3, 100, 0.5}, Shape{1, 1, 1, 0.5}, Shape{1, 1, 32000, 0.0}, Shape{5, 4, 1000, 0.8},
        Shape{2, 31, 37, 0.97}, Shape{2, 2, 500, 1.0}, Shape{2, 0, 333, 0.0}}) {
    const VerifyData in(s.batch, s.drafts, s.vocab, s.agreement, 21);
    const Verified got = run_rejection_verify(in);
    std::vector<bool> near;
    const Verified want = verify_reference(in, near);
    int wrong = 0;
    for (std::size_t i = 0; i < got.tokens.size(); ++i) {
      const std::size_t sequence = i / static_cast<std::size_t>(s.drafts + 1);
      if (!near[sequence] &&
          (got.tokens[i] != want.tokens[i] || got.accepted[sequence] != want.accepted[sequence]))
        ++wrong;
    }
    results.push_back({"fp32, " + std::to_string(s.batch) + " sequences, up to " +
                           std::to_string(s.drafts) + " drafts, vocabulary " +
                           std::to_string(s.vocab) + ": wrong tokens",
                       double(wrong), 0.0});
  }
  return results;
}

// --- Registration ------------------------------------------------------------------------------

class PreparedRejectionVerify : public Prepared {
 public:
  PreparedRejectionVerify(int vocab, int batch, int drafts, std::uint64_t seed)
      : batch_(batch),
        draft_count_(drafts),
        vocab_(vocab),
        drafts_(random_tokens(batch * drafts, vocab, seed)),
        counts_(std::vector<std::int32_t>(static_cast<std::size_t>(batch), drafts)),
        accepted_(static_cast<std::size_t>(batch)),
        tokens_(static_cast<std::size_t>(batch * (drafts + 1))),
        draft_p_(static_cast<std::size_t>(batch) * static_cast<std::size_t>(drafts) *
                 static_cast<std::size_t>(vocab)),
        target_p_(static_cast<std::size_t>(batch) * static_cast<std::size_t>(drafts + 1) *
                  static_cast<std::size_t>(vocab)),
        accept_bits_(static_cast<std::size_t>(batch * drafts)),
        draw_bits_(static_cast<std::size_t>(batch)) {
    const auto word = static_cast<std::uint32_t>(seed);
    const float mean = 1.0f / static_cast<float>(vocab);
    fill_normal(draft_p_.data(), draft_p_.size(), word, mean,
                0.25f * mean);  // above 0 up to 3.5 deviations
    fill_normal(target_p_.data(), target_p_.size(), word + 1, mean, 0.25f * mean);
    fill_bits(accept_bits_.data(), accept_bits_.size(), word + 2);
    fill_bits(draw_bits_.data(), draw_bits_.size(), word + 3);
  }
  void launch(int /*copy*/, Stream stream) override {
    rejection_verify<float>(
        {drafts_.data(), counts_.data(), draft_p_.data(), target_p_.data(), accept_bits_.data(),
         draw_bits_.data(), accepted_.data(), tokens_.data(), draft_count_, vocab_},
        batch_, stream);
  }

 private:
  static std::vector<std::int32_t> random_tokens(int count, int vocab, std::uint64_t seed) {
    TestRandom random(seed);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
    for (auto& t : tokens) t = random.below(vocab);
    return tokens;
  }
  int batch_, draft_count_, vocab_;
  DeviceBuffer<std::int32_t> drafts_, counts_, accepted_, tokens_;
  DeviceBuffer<float> draft_p_, target_p_;
  DeviceBuffer<std::uint32_t> accept_bits_, draw_bits_;
};

inline void register_rejection_verify(std::vector<KernelEntry>& table) {
  KernelEntry entry;
  entry.name = "rejection_verify";
  entry.op = "rejection_verify";
  entry.impl = "own";
  entry.variant = {{"dtype", "fp32"}};
  entry.check = check_rejection_verify;
  entry.supports = [](const Case& c) {
    return c.key[2] < kMaxDrafts;
  };  // vocab, batch, draft_tokens
  entry.work = [](const Case& c) {
    const double rows = static_cast<double>(c.key[0]) * static_cast<double>(c.key[1]);
    return Work{2 * rows, 8 * rows, 0, 4 * rows * (2 * static_cast<double>(c.key[2]) + 1)};
  };
  entry.prepare = [](const Case& c, int /*copies*/,
                     std::uint64_t seed) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedRejectionVerify>(
        static_cast<int>(c.key[0]), static_cast<int>(c.key[1]), static_cast<int>(c.key[2]), seed);
  };
  table.push_back(std::move(entry));
}

}  // namespace headway::kernels
