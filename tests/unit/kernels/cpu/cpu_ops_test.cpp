#include "kernels/cpu/cpu_ops.h"

#include <cmath>
#include <string>

#include "kernels/cpu/checks.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/openblas.h"
#include "kernels/cpu/random_data.h"
#include "kernels/cpu/sampling.h"
#include "tests/support/catch.h"

namespace headway::kernels::cpu {
namespace {

void require_ok(const char* isa, const char* op, const std::vector<CheckResult>& results) {
  REQUIRE_FALSE(results.empty());
  for (const CheckResult& r : results) {
    INFO(isa << " " << op << ": " << r.what << ", error " << r.error << ", tolerance "
             << r.tolerance);
    CHECK(r.ok());
  }
}

std::vector<const CpuOps*> instruction_sets() {
  std::vector<const CpuOps*> sets{&portable_ops()};
  if (&cpu_ops() != sets.front()) sets.push_back(&cpu_ops());
  return sets;
}

std::vector<float> normal(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  NormalValues(seed).fill(values);
  return values;
}

TEST_CASE("cpu ops equal their double references on every instruction set", "[unit][kernels]") {
  for (const CpuOps* ops : instruction_sets()) {
    require_ok(ops->isa, "matmul", check_matmul(*ops));
    require_ok(ops->isa, "rmsnorm", check_rmsnorm(*ops, false));
    require_ok(ops->isa, "rmsnorm with residual", check_rmsnorm(*ops, true));
    require_ok(ops->isa, "rope", check_rope(*ops));
    require_ok(ops->isa, "silu_mul", check_silu_mul(*ops));
    require_ok(ops->isa, "kv_write", check_kv_write(*ops));
    for (const std::int32_t dim : {16, 48, 64, 128}) {
      require_ok(ops->isa, "attention", check_attention(*ops, dim));
    }
    require_ok(ops->isa, "embed", check_embed(*ops));
    require_ok(ops->isa, "argmax", check_argmax(*ops));
  }
  require_ok("", "sampling", check_sampling());
}

TEST_CASE("openblas, where the build has it, multiplies right on this machine", "[unit][kernels]") {
  if (openblas_core().empty()) return;
  require_ok("openblas", "matmul", check_openblas());
}

TEST_CASE("a check finds a wrong operator", "[unit][kernels]") {
  CpuOps broken = cpu_ops();
  broken.matmul = [](const float* x, std::int64_t x_stride, const PackedWeights& w, float* y,
                     std::int64_t y_stride, std::int64_t m) {
    cpu_ops().matmul(x, x_stride, w, y, y_stride, m);
    y[m * y_stride - 1] *= 1.01F;
  };
  broken.argmax = [](const float*, std::int64_t rows, std::int64_t, std::int32_t* out) {
    for (std::int64_t i = 0; i < rows; ++i) out[i] = 0;
  };
  const auto any_bad = [](const std::vector<CheckResult>& results) {
    for (const CheckResult& r : results) {
      if (!r.ok()) return true;
    }
    return false;
  };
  CHECK(any_bad(check_matmul(broken)));
  CHECK(any_bad(check_argmax(broken)));
}

TEST_CASE("bf16 rounds to nearest, ties to even", "[unit][kernels]") {
  CHECK(widen(narrow(1.0F)) == 1.0F);
  CHECK(widen(narrow(-0.0F)) == 0.0F);
  CHECK(widen(narrow(1.0F + 1.0F / 256)) == 1.0F);  // half way: to the even one
  CHECK(widen(narrow(1.0F + 3.0F / 256)) == 1.0F + 4.0F / 256);
  CHECK(widen(narrow(1.0F + 1.1F / 256)) == 1.0F + 2.0F / 256);
  CHECK(narrow(widen(0x3e20)) == 0x3e20);
}

// What the engine's claim of equal tokens rests on.
TEST_CASE("a row's result does not depend on the rows beside it", "[unit][kernels]") {
  constexpr std::int64_t n = 96, k = 72, m = 23;
  const std::vector<float> x = normal(m * k, 1);
  std::vector<Bf16> rows(n * k);
  NormalValues(2).fill(rows);
  const PackedWeights w = pack_weights(rows, n, k);
  for (const CpuOps* ops : instruction_sets()) {
    std::vector<float> whole(m * n), one(n);
    ops->matmul(x.data(), k, w, whole.data(), n, m);
    for (std::int64_t count = 1; count <= m; ++count) {
      std::vector<float> part(static_cast<std::size_t>(count * n));
      ops->matmul(x.data() + (m - count) * k, k, w, part.data(), n, count);
      CHECK(std::equal(part.begin(), part.end(), whole.end() - count * n));
    }
  }
}

TEST_CASE("attention of a token is the same in a prompt, a chunk and a decode step",
          "[unit][kernels]") {
  constexpr KvLayout kLayout{2, 48, 16};
  constexpr std::int32_t kHeads = 6, kTokens = 53, kWidth = kHeads * 48, kKv = 96;
  const std::vector<float> q = normal(kTokens * kWidth, 3), kv = normal(2 * kTokens * kKv, 4);
  const std::vector<std::int32_t> pages{2, 0, 3, 1};
  std::vector<std::int64_t> slots;
  for (std::int32_t t = 0; t < kTokens; ++t) slots.push_back(pages[t / 16] * 16 + t % 16);
  for (const CpuOps* ops : instruction_sets()) {
    std::vector<Bf16> keys(kLayout.elements(4), 0), values(keys.size(), 0);
    const KvCache cache{kLayout, keys.data(), values.data()};
    ops->kv_write(kv.data(), kv.data() + kTokens * kKv, kKv, slots.data(), kTokens, cache);
    std::vector<float> scratch(attention_scratch(kTokens)), whole(q.size()), parts(q.size());
    const AttentionShape shape{kHeads, kWidth, kWidth, 0.144F};
    const std::vector<AttentionRows> all{{0, kTokens, 0, pages.data()}};
    ops->attention(q.data(), cache, all, shape, whole.data(), scratch.data());
    const std::vector<AttentionRows> chunks{{0, 20, 0, pages.data()},
                                            {20, 1, 20, pages.data()},
                                            {21, 31, 21, pages.data()},
                                            {52, 1, 52, pages.data()}};
    ops->attention(q.data(), cache, chunks, shape, parts.data(), scratch.data());
    CHECK(whole == parts);
  }
}

TEST_CASE("top-k and top-p at their edges", "[unit][kernels]") {
  const std::vector<float> logits{0, 2, 1};
  std::vector<RankedToken> buffer;
  CHECK(sample_top_k_top_p(logits, {1, 1, 1}, 0.999, buffer) == 1);
  CHECK(sample_top_k_top_p(logits, {1, 0, 1e-6F}, 0.999, buffer) == 1);  // never fewer than one
  CHECK(sample_top_k_top_p(logits, {1, 0, 1}, 0.0, buffer) == 0);
  CHECK(sample_top_k_top_p(logits, {1, 0, 1}, 0.9999, buffer) == 2);
  CHECK(sample_top_k_top_p(logits, {0.01F, 0, 1}, 0.5, buffer) == 1);  // cold: the likeliest
}

}  // namespace
}  // namespace headway::kernels::cpu
