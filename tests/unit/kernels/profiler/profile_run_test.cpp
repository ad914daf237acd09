// From checks to a folder that the simulator reads, on a device of known times.

#include "kernels/profiler/profile_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/profiler/printing.h"
#include "sim/core/errors.h"
#include "sim/cost/make_cost_model.h"
#include "sim/cost/profile.h"
#include "sim/hardware/gpu_catalogue.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/kernels/profiler/fake_backend.h"

namespace headway::kernels {
namespace {

using headway::test::TempFolder;
using test::fake_entry;
using test::FakeBackend;

// All that a decoder layer needs; times as a floor and rates, so that they can be summed by hand.
std::vector<KernelEntry> decoder_entries() {
  const Variant heads{{"dtype", "fp32"}, {"head_dim", "48"}};
  const Variant kv{{"kv", "bf16"}, {"head_dim", "48"}, {"window", "0"}};
  return {fake_entry("gemm", {{"weights", "bf16"}, {"activations", "fp32"}}),
          fake_entry("attn_decode", kv),
          fake_entry("attn_prefill", kv),
          fake_entry("rope", heads),
          fake_entry("kv_write", {{"kv", "bf16"}, {"head_dim", "48"}, {"page", "16"}}),
          fake_entry("rmsnorm", {{"dtype", "fp32"}, {"residual", "yes"}}),
          fake_entry("silu_mul", {{"dtype", "fp32"}}),
          fake_entry("embedding", {{"dtype", "bf16"}}),
          fake_entry("sampling", {{"dtype", "fp32"}, {"method", "greedy"}})};
}

// 10 us and 1 us for a million of the key's product.
double known_us(const KernelEntry&, const Case& call) {
  double product = 1;
  for (const std::int64_t value : call.key) product *= static_cast<double>(value);
  return 10 + product / 1e6;
}

struct Run {
  FakeBackend fake;
  std::vector<KernelEntry> entries = decoder_entries();
  ProfileRequest request;

  Run() {
    fake.true_us = known_us;
    request.models = {profiled_model("toy-llama-12m")};
    request.budget_s = 1e6;
    request.command_line = "headway profile --device cpu";
  }
  ProfileOutcome outcome() { return run_profile(fake, entries, request); }
};

double time_of(const ProfileTable& table, const std::vector<std::int64_t>& key) {
  for (std::size_t row = 0; row < table.rows(); ++row) {
    bool same = true;
    for (std::size_t axis = 0; axis < key.size(); ++axis) {
      same = same && table.key(row, axis) == key[axis];
    }
    if (same) return table.time_us[row];
  }
  FAIL("no such row");
  return 0;
}

TEST_CASE("a profile holds what was measured, and the simulator reads it back", "[unit]") {
  Run run;
  const ProfileOutcome outcome = run.outcome();
  CHECK(outcome.failed.empty());
  const Profile& p = outcome.profile;
  CHECK(p.incomplete.empty());
  CHECK(p.name.starts_with("cpu/headway-"));
  CHECK(p.tables.size() == 9);

  TempFolder folder;
  write_profile(p, folder / "p");
  const Profile q = load_profile(folder / "p");
  CHECK(q.gpu == "cpu");
  CHECK_NOTHROW(check_profile_for(q, "cpu"));
  const ProfileTable* gemm = q.find("gemm", {{"weights", "bf16"}, {"activations", "fp32"}});
  REQUIRE(gemm != nullptr);
  CHECK(gemm->variant.at("impl") == "own");
  CHECK(gemm->method == "made up");
  CHECK(time_of(*gemm, {288, 288, 16}) == Approx(10 + 288. * 288 * 16 / 1e6).epsilon(1e-4));
  for (const ProfileTable& table : q.tables) {
    for (const std::uint8_t flags : table.flags) CHECK((flags & (kRowOutlier | kRowNoisy)) == 0);
  }
  const auto provenance = nlohmann::json::parse(q.provenance_json);
  for (const char* key : {"source", "commit", "licence", "attribution", "device", "engine",
                          "engine_version", "method", "measured_by", "kept"}) {
    INFO(key);
    CHECK_FALSE(provenance.value(key, std::string()).empty());
  }
  CHECK(q.overheads.at("kernel_launch_us") == 2.5);
}

TEST_CASE("a profile prices every part of a step of the model it was made for", "[unit]") {
  Run run;
  const Profile profile = run.outcome().profile;
  const ModelSpec model = run.request.models[0].spec;
  const GpuSpec gpu = load_gpu("cpu");
  CostOptions options{model, gpu, &profile};
  options.precision = {DType::kBf16, DType::kFp32, DType::kBf16};
  options.enforce_eager = true;
  StepShape shape;
  shape.tokens = shape.decode_sequences = shape.decode_query_tokens = 16;
  shape.decode_kv_tokens = 16 * 256;
  shape.decode_kv_max = 256;
  shape.sampled_sequences = 16;
  const StepCost step = make_cost_model(options)->price(shape);
  const auto us = [](std::initializer_list<std::int64_t> key) {
    return known_us({}, Case{key, {}});
  };
  const double layer = 2 * us({288, 16}) + us({480, 288, 16}) + us({6, 2, 16}) + us({2, 16}) +
                       us({6, 2, 16, 256}) + us({288, 288, 16}) + us({3072, 288, 16}) +
                       us({1536, 16}) + us({288, 1536, 16});
  const double once = us({288, 16}) + us({288, 16}) + us({4096, 288, 16}) + us({4096, 16});
  // Rows between the grid's (16 rows of the small kernels) are read between its points.
  CHECK(step.gpu_us == Approx(6 * layer + once).epsilon(0.02));
  CHECK(step.coverage_us[static_cast<std::size_t>(Coverage::kRoofline)] == 0);
  CHECK(step.coverage_us[static_cast<std::size_t>(Coverage::kExtrapolated)] == 0);
}

TEST_CASE("held-out probes state what reading between the points costs", "[unit]") {
  Run run;
  const Profile p = run.outcome().profile;
  const ProfileTable* gemm = p.find("gemm", {});
  REQUIRE(gemm != nullptr);
  REQUIRE(gemm->holdout);
  CHECK(gemm->holdout->points >= 3);
  // The time is a floor and a rate: what the simulator's own model is made of.
  CHECK(gemm->holdout->err_median < 0.05);

  // A product that takes double between 17 and 31 tokens: no point of the grid tells.
  Run odd;
  odd.fake.true_us = [](const KernelEntry& entry, const Case& call) {
    const bool between = entry.op == "gemm" && call.key[2] % 8 != 0 && call.key[2] > 8;
    return known_us(entry, call) * (between ? 2 : 1);
  };
  const Profile q = odd.outcome().profile;
  REQUIRE(q.find("gemm", {})->holdout);
  CHECK(q.find("gemm", {})->holdout->err_p90 == Approx(0.5).margin(0.1));
  CHECK(q.find("gemm", {})->holdout->bias < 0);
}

TEST_CASE("closure sets one whole against the sum of its parts", "[unit]") {
  Run run;
  const Profile p = run.outcome().profile;
  REQUIRE(p.closure.size() == 8);  // six layers, a decode step, a prefill
  CHECK(p.closure[0].what == "layer decode batch 1 context 1024 toy-llama-12m tp 1");
  // D 288, 6 heads and 2 KV heads of 48, F 1536; 10 calls.
  const double products[] = {288,       480. * 288, 6 * 2,      2,   6 * 2 * 1024,
                             288 * 288, 288,        3072 * 288, 1536, 288 * 1536};
  double layer = 0;
  for (const double product : products) layer += 10 + product / 1e6;
  CHECK(p.closure[0].measured_us == Approx(layer).epsilon(1e-3));
  CHECK(p.closure[0].sum_us == Approx(layer).epsilon(0.03));
  for (const Closure& c : p.closure) {
    INFO(c.what);
    CHECK(c.measured_us / c.sum_us == Approx(1).epsilon(0.05));
  }
  CHECK(p.closure[6].what.starts_with("step decode batch 8"));
  CHECK(p.closure[6].measured_us > 6 * p.closure[2].measured_us);
}

TEST_CASE("a kernel whose check fails or throws is named and not timed", "[unit]") {
  Run run;
  run.entries[6].check = [] { return std::vector<CheckResult>{{"bf16, 3 rows", 0.5, 0.01}}; };
  run.entries[7].check = []() -> std::vector<CheckResult> { throw std::runtime_error("launch"); };
  const ProfileOutcome outcome = run.outcome();
  REQUIRE(outcome.failed.size() == 2);
  CHECK(outcome.failed[0].kernel == "silu_mul_kernel");
  CHECK_THAT(outcome.failed[0].what, ContainsSubstring("bf16, 3 rows"));
  CHECK(outcome.failed[1].what == "launch");
  CHECK(outcome.profile.find("silu_mul", {}) == nullptr);
  CHECK(outcome.profile.find("embedding", {}) == nullptr);
  CHECK(outcome.profile.find("gemm", {}) != nullptr);
  CHECK(outcome.profile.closure.empty());  // a layer without its activation is none
  const auto nan = std::nan("");
  CHECK_FALSE(CheckResult{"x", nan, 1}.ok());
}

TEST_CASE("a call that the device refuses is one row less, and named", "[unit]") {
  Run run;
  run.fake.refuses = [](const Sequence& sequence) {
    return sequence.parts.size() == 1 && sequence.parts[0].entry->op == "silu_mul" &&
           sequence.parts[0].call.key[1] == 512;
  };
  const ProfileOutcome outcome = run.outcome();
  CHECK(outcome.failed.empty());
  REQUIRE(outcome.refused.size() == 1);
  CHECK(outcome.refused[0] == "silu_mul_kernel: misaligned address");
  CHECK(outcome.profile.incomplete.empty());
  CHECK(outcome.profile.find("silu_mul", {})->rows() == 4);
  CHECK_THAT(outcome.profile.session_json, ContainsSubstring("misaligned address"));
}

TEST_CASE("an interrupted profile keeps what it has, says so, and prices nothing", "[unit]") {
  Run run;
  std::atomic<bool> stop{false};
  run.request.stop = &stop;
  run.fake.on_sample = [&](double) { stop = run.fake.samples > 300; };
  const ProfileOutcome outcome = run.outcome();
  const Profile& p = outcome.profile;
  CHECK_THAT(p.incomplete, ContainsSubstring("interrupted after"));
  CHECK_FALSE(p.tables.empty());
  CHECK(p.closure.empty());
  TempFolder folder;
  write_profile(p, folder / "p");
  const Profile q = load_profile(folder / "p");
  CHECK(q.incomplete == p.incomplete);
  CHECK_THROWS_AS(check_profile_for(q, "cpu"), InputError);
}

TEST_CASE("a budget that is too small ends in time and is said to", "[unit]") {
  Run run;
  run.request.budget_s = 1.5;
  const double begin = run.fake.now_s();
  const ProfileOutcome outcome = run.outcome();
  CHECK_THAT(outcome.profile.incomplete, ContainsSubstring("out of time after"));
  CHECK(run.fake.now_s() - begin <= 1.5 + run.fake.prepare_s + 0.001);
}

TEST_CASE("a whole profile stays within its budget, closure and sustained runs included",
          "[unit]") {
  Run run;
  run.fake.sigma = 0.1;
  run.request.budget_s = 40;
  run.request.sustained = true;
  const double begin = run.fake.now_s();
  const ProfileOutcome outcome = run.outcome();
  CHECK(outcome.profile.incomplete.empty());
  CHECK(run.fake.now_s() - begin <= 40.1);
  CHECK_FALSE(outcome.profile.closure.empty());
  const auto session = nlohmann::json::parse(outcome.profile.session_json);
  CHECK(session.at("sustained").size() == 3);
  CHECK(session.at("passes") > 1);
}

TEST_CASE("what is printed names every table and marks the probes", "[unit]") {
  Run run;
  const ProfileOutcome outcome = run.outcome();
  const std::string table = table_text(outcome);
  for (const ProfileTable& t : outcome.profile.tables) CHECK_THAT(table, ContainsSubstring(t.op));
  CHECK_THAT(table, ContainsSubstring("layer decode batch 8 context 1024"));
  const std::string csv = rows_csv(outcome);
  CHECK(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')) ==
        outcome.rows.size() + 1);
  CHECK_THAT(csv, ContainsSubstring(",probe,"));
  CHECK_THAT(csv, ContainsSubstring(",ragged,"));
  const auto json = nlohmann::json::parse(rows_json(outcome));
  CHECK(json.at("points").size() == outcome.rows.size());
  CHECK(json.at("points")[0].at("n") > 0);
  const std::vector<Point> points =
      planned_points(run.fake.device(), run.entries, run.request);
  CHECK_THAT(list_text(run.entries, points), ContainsSubstring("attn_decode"));
}

}  // namespace
}  // namespace headway::kernels
