#include "sim/cost/collectives.h"

#include <array>

#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/cost/context_parallel.h"
#include "sim/cost/make_cost_model.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/fixtures.h"

using namespace headway;

namespace {

// Compute-bound: 1 FLOP is 1e-6 us; a link of 1 GB/s and 3 us.
GpuSpec gpu() {
  GpuSpec g;
  g.name = "made up";
  g.flops_bf16 = 1e12;
  g.memory_bandwidth = 1e18;
  g.link_bandwidth = 1e9;
  g.link_latency_us = 3;
  return g;
}

ModelSpec tiny() { return dense_model("tiny", 1, {64, 128, 4, 2, 16, 64}); }

// 8 experts of 64 x 32, 2 a token.
ModelSpec tiny_experts() {
  ModelSpec model = tiny();
  MlpSpec& mlp = model.layers.front().mlp;
  mlp.kind = MlpKind::kMoe;
  mlp.experts = 8;
  mlp.experts_per_tok = 2;
  mlp.expert_intermediate = 32;
  return model;
}

double class_us(const StepCost& cost, OpClass op) {
  return cost.by_class_us[static_cast<std::size_t>(op)];
}

StepShape prompt(std::int32_t fresh, std::int32_t context) {
  StepShape shape;
  shape.tokens = fresh;
  shape.prefill.push_back({fresh, context});
  return shape;
}

}  // namespace

TEST_CASE("a collective over the link: its GPUs' part of the message and the latency",
          "[unit][cost][parallel]") {
  for (CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                              CollectiveKind::kAllToAll}) {
    const Priced four = Collective(nullptr, kind, 4, gpu()).at(8000);
    CHECK(four.us == Approx(6 + 3));  // 3/4 of 8000 bytes at 1 GB/s
    CHECK(four.from == Coverage::kRoofline);
    CHECK(Collective(nullptr, kind, 1, gpu()).at(8000).us == 0);
  }
}

TEST_CASE("a measured collective is NCCL's time where the table has it", "[unit][cost][parallel]") {
  const std::string name = "h100-sxm/vllm-0.24.0";
  const Profile profile = read_profile(data_folder("profiles") + "/" + name, name);
  const auto at = [&](CollectiveKind kind, std::int32_t gpus) {
    return Collective(&profile, kind, gpus, gpu()).at(2.0 * 1048576);
  };
  // Rows of h100_sxm/nccl-2.27.3: 1 048 576 elements of two bytes.
  CHECK(at(CollectiveKind::kAllGather, 2).us == Approx(16.53));
  CHECK(at(CollectiveKind::kReduceScatter, 8).us == Approx(18.01));
  CHECK(at(CollectiveKind::kAllToAll, 8).us == Approx(18.83));
  CHECK(at(CollectiveKind::kAllToAll, 8).from == Coverage::kMeasured);
  CHECK(at(CollectiveKind::kAllGather, 3).from == Coverage::kRoofline);  // nobody measured three
}

TEST_CASE("tokens reach their experts by an all-gather and return by a reduce-scatter",
          "[unit][cost][parallel]") {
  const RankOperators ops = rank_operators(tiny_experts(), {}, RankSplit{1, 1, 2, 2});
  const ExpertExchange exchange(nullptr, ops, ops.first(), gpu());
  // 10 rows of 64 x 2 bytes, and 2 choices of 8 bytes on the way there; half of it moves.
  CHECK(exchange.at(10).us == Approx(0.5 * 10 * (128 + 16) * 1e-3 + 3 + 0.5 * 10 * 128 * 1e-3 + 3));
}

TEST_CASE("all-to-all: a row travels once to every group that holds one of its experts",
          "[unit][cost][parallel]") {
  CHECK(groups_reached(2, 8) == Approx(2 * (1 - 1.0 / 256)));
  CHECK(groups_reached(1, 8) == Approx(1));
  RankOperators ops = rank_operators(tiny_experts(), {}, RankSplit{1, 1, 4, 4});
  ops.all_to_all = true;
  const ExpertExchange exchange(nullptr, ops, ops.first(), gpu());
  // 2 of 4 groups: 4 (1 - (3/4)^2) = 1.75 of them; each of 4 ranks sends its 4 of 16 rows so often.
  const double there = 4 * 1.75 * (128 + 16), back = 4 * 1.75 * 128;
  CHECK(exchange.at(16).us == Approx(0.75 * there * 1e-3 + 3 + 0.75 * back * 1e-3 + 3));
}

TEST_CASE("ranks in step: the experts see the rows of all of them", "[unit][cost][parallel]") {
  const ModelSpec model = tiny_experts();
  const GpuSpec made_up = gpu();
  CostOptions options{model, made_up};
  options.data_parallel_size = options.expert_parallel_size = 2;
  const auto cost = make_cost_model(options);
  std::array<StepShape, 2> shapes{decode(3, 10), decode(5, 10)};
  cost->align(shapes);
  CHECK(shapes[0].group_tokens == 8);
  const StepCost eight = cost->price(shapes[0]);
  shapes[0].group_tokens = 16;
  const StepCost sixteen = cost->price(shapes[0]);
  // 8 rows more of 2 experts each, half of them here: 8 x 3 products of 2 x 64 x 32 FLOPs.
  CHECK(class_us(sixteen, OpClass::kLinear) - class_us(eight, OpClass::kLinear) ==
        Approx(8 * 6 * 64 * 32 * 1e-6));
  CHECK(class_us(eight, OpClass::kCommunication) ==
        Approx(0.5 * 8 * (144 + 128) * 1e-3 + 2 * 3));
}

TEST_CASE("experts under skew: the fullest rank's rows are priced", "[unit][cost][parallel]") {
  ModelSpec model = tiny_experts();
  model.layers.front().mlp.routing_skew = 1;
  const RankOperators ops = rank_operators(model, {}, RankSplit{1, 1, 4, 4});
  const ExpertWidths skewed = expert_widths(ops, ops.first());
  CHECK(expert_rows(skewed, 100) > 100 * 2 / 4.0);
  model.layers.front().mlp.routing_skew = 0;
  const RankOperators even = rank_operators(model, {}, RankSplit{1, 1, 4, 4});
  CHECK(expert_rows(expert_widths(even, even.first()), 100) == Approx(100 * 2 / 4.0));
}

TEST_CASE("context parallelism: rows and pairs are shared, keys and values gathered",
          "[unit][cost][parallel]") {
  // 100 tokens after 50: 100 x 50 + 100 x 101 / 2 pairs; a quarter of the rows has a quarter of them.
  const PrefillChunk share = context_parallel_share({100, 50}, 4);
  CHECK(share.new_tokens == 25);
  CHECK(25.0 * share.context_tokens + 25 * 26 / 2 == Approx((5000 + 5050) / 4.0).epsilon(0.01));
  CHECK(context_parallel_share({1, 7}, 4).new_tokens == 1);

  const ModelSpec model = tiny();
  const GpuSpec made_up = gpu();
  CostOptions options{model, made_up};
  const auto one = make_cost_model(options);
  options.context_parallel_size = 4;
  const auto four = make_cost_model(options);
  const StepCost cost = four->price(prompt(100, 50));
  CHECK(class_us(cost, OpClass::kLinear) ==
        Approx(class_us(one->price(prompt(25, 50)), OpClass::kLinear)));
  // 2 heads of keys and of values, 16 wide, 2 bytes: 12 800 bytes, three quarters over the link.
  CHECK(class_us(cost, OpClass::kCommunication) == Approx(9.6 + 3));
  CHECK(four->price(decode(7, 100)).gpu_us == one->price(decode(7, 100)).gpu_us);
}

TEST_CASE("a size that does not divide names the nearest that do", "[unit][cost][parallel]") {
  const auto expected = [](const ModelSpec& model, RankSplit split) {
    try {
      check_divides(model, split);
    } catch (const InputError& error) {
      return error.parts().place + ": " + error.parts().expected;
    }
    return std::string();
  };
  const ModelSpec model = dense_model("m", 1, {4096, 14336, 32, 8, 128, 64});
  CHECK_THAT(expected(model, {3}), ContainsSubstring("32 attention heads of m; nearest: 2 or 4"));
  CHECK_THAT(expected(model, {24}), ContainsSubstring("nearest: 16 or 32"));
  CHECK(expected(model, {16}).empty());  // 8 KV heads, each kept twice
  const ModelSpec odd = dense_model("odd", 1, {4096, 14336, 12, 3, 128, 64});
  CHECK_THAT(expected(odd, {4}), ContainsSubstring("a multiple of the 3 KV heads"));
  CHECK_THAT(expected(tiny_experts(), {1, 1, 8, 3}), ContainsSubstring("nearest: 2 or 4"));
  CHECK_THAT(expected(tiny_experts(), {1, 1, 2, 8}), ContainsSubstring("nearest: 2"));
}
