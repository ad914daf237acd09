// FLOPs and bytes of every layer kind, against numbers worked out by hand.
#include <cmath>
#include <string>
#include <string_view>

#include "sim/cost/mixer_operators.h"
#include "sim/cost/operator_work.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/kinds_fixtures.h"

using namespace headway;

namespace {

RankOperators one_layer(const MixerSpec& mixer, const MlpSpec& mlp = {.kind = MlpKind::kNone},
                        RankSplit split = {}, Precision precision = {}) {
  return rank_operators(model_of({{mixer, mlp, 2}}), precision, split);
}

Operator part(const OperatorParts& parts, std::string_view name) {
  for (const Operator& op : parts) {
    if (op.name == name) return op;
  }
  FAIL("no operator of that name");
  return {};
}
bool has(const OperatorParts& parts, std::string_view name) {
  for (const Operator& op : parts) {
    if (op.name == name) return true;
  }
  return false;
}
std::int64_t columns(const RankLayer& layer, const std::string& name) {
  for (const GemmSite& site : layer.gemms) {
    if (site.name == name) return site.n;
  }
  return 0;
}

}  // namespace

TEST_CASE("pairs of a query and a key it sees, counted one by one", "[unit][cost]") {
  for (const double window : {0.0, 1.0, 7.0, 40.0, 100.0}) {
    for (int context : {0, 1, 6, 39, 60}) {
      for (int fresh : {1, 5, 64}) {
        double pairs = 0;
        for (int i = 1; i <= fresh; ++i) {
          const double seen = context + i;
          pairs += window > 0 ? std::min(seen, window) : seen;
        }
        CHECK(causal_pairs(fresh, context, window) == pairs);
      }
    }
  }
}

TEST_CASE("a window bounds what decode reads", "[unit][cost]") {
  MixerSpec mixer = dense_layer(32, 8, 128, 0).mixer;
  mixer.window = 1000;
  const RankOperators ops = one_layer(mixer);
  const auto kv_bytes = [&](double batch, double sum) {
    return part(decode_operators(ops, ops.first(), batch, sum), "attention").kv_bytes;
  };
  CHECK(kv_bytes(1, 600) == 600 * 2 * 8 * 128 * 2);
  CHECK(kv_bytes(1, 5000) == 1000 * 2 * 8 * 128 * 2);
  // Four of the same length, and a batch whose mean is below the window: the mean decides.
  CHECK(kv_bytes(4, 20000) == 4 * kv_bytes(1, 5000));
  CHECK(kv_bytes(2, 1500) == 1500 * 2 * 8 * 128 * 2);
  // Lengths of 500 and 1500 truly read 500 + 1000: the mean charges 2000, a third too much.
  CHECK(kv_bytes(2, 2000) == 2000 * 2 * 8 * 128 * 2);
}

TEST_CASE("a window bounds what a chunk computes and reads", "[unit][cost]") {
  MixerSpec mixer = dense_layer(32, 8, 128, 0).mixer;
  mixer.window = 100;
  const RankOperators ops = one_layer(mixer);
  const Operator op = part(prefill_operators(ops, ops.first(), {{50, 400}}), "attention");
  CHECK(op.flops == 4.0 * 32 * 128 * 50 * 100);
  CHECK(op.kv_bytes == (99 + 50) * 2.0 * 8 * 128 * 2);
  CHECK(op.activation_bytes == 50 * 32 * 256.0 * 2);
}

TEST_CASE("a layer that shares KV reads it, but makes none", "[unit][cost]") {
  const MixerSpec own = dense_layer(32, 8, 128, 0).mixer;
  MixerSpec shared = own;
  shared.shares_kv = true;
  const RankOperators a = one_layer(own), b = one_layer(shared);
  CHECK(columns(a.first(), "qkv") == (32 + 2 * 8) * 128);
  CHECK(columns(b.first(), "q") == 32 * 128);
  CHECK(has(elementwise_operators(a, a.first(), 1), "kv_write"));
  CHECK_FALSE(has(elementwise_operators(b, b.first(), 1), "kv_write"));
  const auto read = [](const RankOperators& ops) {
    return part(decode_operators(ops, ops.first(), 4, 4000), "attention").kv_bytes;
  };
  CHECK(read(a) == read(b));
}

TEST_CASE("MLA decodes on the latent and prefills on expanded keys", "[unit][cost]") {
  const RankOperators ops = one_layer(latent_mixer());
  const RankLayer& layer = ops.first();
  CHECK(columns(layer, "qkv_a") == 1536 + 576);
  CHECK(columns(layer, "q_b") == 128 * 192);
  const OperatorParts decode = decode_operators(ops, layer, 2, 3000);
  const Operator attention = part(decode, "attention");
  CHECK(attention.flops == 2.0 * 128 * (576 + 512) * 3000);
  CHECK(attention.kv_bytes == 3000 * 576 * 2.0);  // read once for all heads
  CHECK(part(decode, "absorb_q").flops == 2.0 * 2 * 128 * 128 * 512);
  CHECK(part(decode, "absorb_q").weight_bytes == 128 * 128 * 512 * 2.0);
  CHECK(part(decode, "absorb_v").flops == 2.0 * 2 * 128 * 512 * 128);

  const OperatorParts prefill = prefill_operators(ops, layer, {{100, 300}});
  const double pairs = 100 * 300 + 100 * 101 / 2.0;
  CHECK(part(prefill, "attention").flops == 2.0 * 128 * (192 + 128) * pairs);
  CHECK(part(prefill, "kv_b").flops == 2.0 * 400 * 512 * 128 * (128 + 128));
  CHECK(part(prefill, "kv_b").kv_bytes == 300 * 576 * 2.0);
  // Under tensor parallelism heads are cut, the latent is not.
  const RankOperators half = one_layer(latent_mixer(), {.kind = MlpKind::kNone}, {2, 1});
  const OperatorParts cut = decode_operators(half, half.first(), 2, 3000);
  CHECK(part(cut, "attention").flops == attention.flops / 2);
  CHECK(part(cut, "attention").kv_bytes == attention.kv_bytes);
}

TEST_CASE("a top k attends to the chosen and scores them all", "[unit][cost]") {
  MixerSpec mixer = latent_mixer();
  mixer.sparse.top_k = 2048;
  mixer.sparse.index_heads = 64;
  mixer.sparse.index_head_dim = 128;
  const RankOperators ops = one_layer(mixer);
  const OperatorParts decode = decode_operators(ops, ops.first(), 1, 50000);
  CHECK(part(decode, "attention").kv_bytes == 2048 * 576 * 2.0);
  CHECK(part(decode, "index").flops == 2.0 * 64 * 128 * 50000);
  CHECK(part(decode, "index").kv_bytes == 50000 * 128.0);
  const OperatorParts few = decode_operators(ops, ops.first(), 1, 1000);
  CHECK(part(few, "attention").kv_bytes == 1000 * 576 * 2.0);
}

TEST_CASE("a compressed cache has entries, and the window beside them", "[unit][cost]") {
  MixerSpec mixer = dense_layer(64, 1, 512, 0).mixer;
  mixer.values_are_keys = true;
  mixer.window = 128;
  mixer.sparse.compression = 4;
  mixer.sparse.top_k = 512;
  const RankOperators ops = one_layer(mixer);
  const auto attention = [&](double length) {
    return part(decode_operators(ops, ops.first(), 1, length), "attention");
  };
  CHECK(attention(1000).kv_bytes == (250 + 128) * 512 * 2.0);
  CHECK(attention(1000).flops == 4.0 * 64 * 512 * (250 + 128));
  CHECK(attention(100000).kv_bytes == (512 + 128) * 512 * 2.0);
  CHECK(decode_bends(ops.first()) == std::vector<double>{128, 2048});
}

TEST_CASE("recurrent states cost the same at any length", "[unit][cost]") {
  const RankOperators ops = one_layer(state_mixer(MixerKind::kMamba2, 80, 1, 128, 64, 4));
  const RankLayer& layer = ops.first();
  // z, x, B, C, dt from the hidden state.
  CHECK(columns(layer, "in") == 2 * 5120 + 2 * 128 + 80);
  const OperatorParts decode = decode_operators(ops, layer, 3, 3000);
  CHECK(part(decode, "state_update").kv_bytes == 3 * 2 * 80 * 64 * 128 * 4.0);
  CHECK(part(decode, "state_update").flops == 3 * 5.0 * 80 * 64 * 128);
  CHECK(part(decode, "convolution").kv_bytes == 3 * 2 * (5120 + 256) * 3 * 2.0);
  CHECK(part(decode_operators(ops, layer, 3, 300000), "state_update").kv_bytes ==
        part(decode, "state_update").kv_bytes);
  // 600 tokens: chunks of 256, 256 and 88; pairs inside chunks as if each had 256.
  const Operator scan = part(prefill_operators(ops, layer, {{600, 0}}), "chunked_scan");
  CHECK(scan.flops == 2.0 * 128 * 600 * 256 + 2.0 * 5120 * 600 * 256 + 4.0 * 5120 * 128 * 600);
  CHECK(scan.kv_bytes == 3 * 2 * 80 * 64 * 128 * 4.0);

  const RankOperators delta =
      one_layer(state_mixer(MixerKind::kGatedDeltaNet, 32, 16, 128, 128, 4));
  CHECK(columns(delta.first(), "in") == 2 * 4096 + 2 * 2048 + 2 * 32);
  CHECK(part(decode_operators(delta, delta.first(), 1, 9), "state_update").flops ==
        7.0 * 32 * 128 * 128);
  const RankOperators linear =
      one_layer(state_mixer(MixerKind::kLinearAttention, 32, 32, 128, 128, 0));
  CHECK(columns(linear.first(), "in") == 3 * 4096);
  CHECK_FALSE(has(decode_operators(linear, linear.first(), 1, 9), "convolution"));
}

TEST_CASE("uneven routing: the popular experts are hit, the others less", "[unit][cost]") {
  const std::vector<double> three = power_law_chances(3, 1, 1);
  CHECK(three[0] == Approx(6.0 / 11));
  CHECK(three[1] == Approx(3.0 / 11));
  CHECK(three[2] == Approx(2.0 / 11));
  for (const double skew : {0.0, 0.5, 1.2, 4.0}) {
    const std::vector<double> chances = power_law_chances(128, 8, skew);
    double sum = 0;
    for (std::size_t i = 0; i < chances.size(); ++i) {
      sum += chances[i];
      CHECK(chances[i] <= 1 + 1e-12);
      if (i > 0) CHECK(chances[i] <= chances[i - 1] + 1e-12);
    }
    CHECK(sum == Approx(8));
  }
  const MixerSpec mixer = dense_layer(32, 8, 128, 0).mixer;
  const auto widths = [&](double skew, std::int32_t ranks) {
    const RankOperators ops = one_layer(mixer, moe(3, 1, 1024, 0, skew), {1, 1, ranks, ranks});
    return expert_widths(ops, ops.first());
  };
  CHECK(experts_hit(widths(0, 1), 2) == Approx(3 * (1 - 4.0 / 9)));
  CHECK(experts_hit(widths(1, 1), 2) ==
        Approx(3 - std::pow(5.0 / 11, 2) - std::pow(8.0 / 11, 2) - std::pow(9.0 / 11, 2)));
  CHECK(expert_rows(widths(1, 1), 22) == Approx(22));
  // Spread over three GPUs, the one that holds the popular expert decides: 12 of 22 tokens.
  CHECK(expert_rows(widths(1, 3), 22) == Approx(12));
  CHECK(expert_rows(widths(0, 3), 22) == Approx(22.0 / 3));
}

TEST_CASE("shared experts, gates and MLPs without a gate have products of their own",
          "[unit][cost]") {
  const MixerSpec mixer = dense_layer(32, 8, 128, 0).mixer;
  MlpSpec mlp = moe(64, 4, 1024, 2048);
  mlp.shared_gate = true;
  const RankOperators mixture = one_layer(mixer, mlp, {2, 1});
  CHECK(columns(mixture.first(), "router") == 65);
  CHECK(columns(mixture.first(), "shared_gate_up") == 2048);  // two halves of 2048 / 2
  CHECK(mixture.first().spec.mlp.expert_intermediate == 512);
  MlpSpec two;
  two.gated = false;
  two.intermediate = 16384;
  const RankOperators dense = one_layer(mixer, two);
  CHECK(columns(dense.first(), "up") == 16384);
  CHECK(columns(dense.first(), "gate_up") == 0);
  const OperatorParts small = elementwise_operators(dense, dense.first(), 1);
  CHECK(part(small, "activation").bytes() == 2 * 16384 * 2);
  MixerSpec gated = mixer;
  gated.output_gate = true;
  CHECK(columns(one_layer(gated).first(), "qkv") == (2 * 32 + 2 * 8) * 128);
}

TEST_CASE("layers are listed by kind, in the order of the model", "[unit][cost]") {
  const RankOperators ops = rank_operators(every_kind(), {}, 1, 1);
  CHECK(ops.kinds.size() == 12);
  CHECK(ops.kinds[2].name == "attention (window 1024) + MLP");
  CHECK(ops.kinds[7].name == "Mamba-2");
  // One all-reduce after each half that there is: two of the layers have one half.
  CHECK(ops.all_reduces() == 2 * 12 - 2);
  ModelSpec twice = every_kind();
  twice.layers.push_back(twice.layers.front());
  CHECK(rank_operators(twice, {}, 1, 1).kinds.front().count == 2);
}
