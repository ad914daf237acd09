#include "sim/study/roofline_study.h"

#include "sim/core/errors.h"
#include "sim/hardware/gpu_catalogue.h"
#include "sim/model/hf_config.h"
#include "sim/report/roofline_report.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

RooflineQuestion question(const std::string& model) {
  RooflineQuestion q;
  q.model = load_model(model, "");
  q.gpu = load_gpu("h100-sxm");
  return q;
}

}  // namespace

TEST_CASE("the largest batch fits, and one more does not", "[unit][study]") {
  for (const char* name :
       {"llama-2-13b", "llama-3.1-8b", "deepseek-v2-lite", "gemma-2-9b", "mamba2-2.7b"}) {
    INFO(name);
    RooflineQuestion q = question(name);
    const std::int64_t most = study_roofline(q).largest_batch;
    REQUIRE(most > 0);
    q.batches = {most, most + 1};
    const RooflineReport report = study_roofline(q);
    CHECK(report.sweep[0].fit != Fit::kNo);
    CHECK(report.sweep[1].fit == Fit::kNo);
  }
  CHECK(study_roofline(question("llama-3.1-405b")).largest_batch == 0);
}

TEST_CASE(
    "operators at their rooflines take longer than reading alone, and shares of layers add up",
    "[unit][study]") {
  for (const char* name : {"llama-2-13b", "qwen3-30b-a3b", "deepseek-v2-lite", "gemma-3-27b",
                           "mamba2-2.7b", "qwen3-next-80b-a3b"}) {
    INFO(name);
    const RooflineQuestion q = question(name);
    const RooflineReport report = study_roofline(q);
    for (std::size_t i = 0; i < q.batches.size(); ++i) {
      const PassReport& pass = report.generation[i];
      double layers = 0;
      for (const LayerSum& sum : pass.layers) layers += sum.time_s;
      CHECK(layers == Approx(pass.time_s));
      CHECK(pass.time_s == Approx(report.sweep[i].operators_s));
      // The embedding table is looked up, not read.
      const double table = 2.0 * q.model.vocab_size * q.model.hidden_size / q.gpu.memory_bandwidth;
      CHECK(pass.time_s > report.sweep[i].bound.latency_s - table);
    }
    CHECK(report.curve.size() > 10);
    CHECK_THAT(roofline_svg(report), ContainsSubstring("</svg>"));
    CHECK(roofline_text(report, true).size() > roofline_text(report, false).size());
  }
}

TEST_CASE("GPUs share weights and heads, and a latent is kept by each", "[unit][study]") {
  RooflineQuestion q = question("llama-2-13b");
  const RooflineReport one = study_roofline(q);
  q.tensor_parallel_size = 4;
  const RooflineReport four = study_roofline(q);
  CHECK(four.sweep[0].bound.memory_bytes() * 4 == Approx(one.sweep[0].bound.memory_bytes()));
  CHECK(four.generation[0].operators.back().bound == Bound::kLink);
  q.tensor_parallel_size = 3;
  CHECK_THROWS_AS(study_roofline(q), InputError);

  RooflineQuestion latent = question("deepseek-v2-lite");
  const double kept = study_roofline(latent).kv_bytes_per_sequence;
  latent.tensor_parallel_size = 2;
  CHECK(study_roofline(latent).kv_bytes_per_sequence == kept);
}
