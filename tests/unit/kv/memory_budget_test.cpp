#include "sim/kv/memory_budget.h"

#include "sim/core/errors.h"
#include "sim/hardware/gpu_catalogue.h"
#include "sim/model/hf_config.h"
#include "tests/support/catch.h"

namespace headway {
namespace {

MemoryBudget budget(const std::string& model, const std::string& gpu, MemoryOptions options = {}) {
  return memory_budget(load_model(model, "."), load_gpu(gpu), options, "demo.json");
}

InputError::Parts refusal(const std::string& model, const std::string& gpu,
                          const MemoryOptions& options) {
  try {
    budget(model, gpu, options);
  } catch (const InputError& e) {
    return e.parts();
  }
  FAIL("accepted");
  return {};
}

TEST_CASE("the parts of a budget add up to the share", "[unit]") {
  MemoryOptions options;
  options.gpu_memory_utilization = 0.85;
  const MemoryBudget b = budget("qwen3-14b", "h100-sxm", options);
  const std::int64_t used =
      b.weight_bytes + b.activation_bytes + b.overhead_bytes + b.kv_cache_bytes;
  CHECK(used <= b.usable_bytes);
  CHECK(b.usable_bytes - used < b.block_bytes);
  CHECK(b.kv_cache_bytes == b.num_gpu_blocks * b.block_bytes);
  CHECK(b.block_bytes == 16 * 163840);
  CHECK_FALSE(b.pinned);
  CHECK(budget_lines(b).size() == 8);
}

TEST_CASE("weights and their rotary table by hand", "[unit]") {
  // Qwen3-14B in bf16, and 40960 positions x 128 x 2 bytes.
  CHECK(budget("qwen3-14b", "h100-sxm").weight_bytes == 2 * 14768307200 + 40960 * 128 * 2);
}

TEST_CASE("activations: the wider of the MLP and of sampling", "[unit]") {
  MemoryOptions options;
  options.max_num_batched_tokens = 16384;
  options.max_num_seqs = 8;
  // Llama 3.1 8B: residual and norm 2 x 4096, gate and up 28672, product 14336; bf16.
  CHECK(budget("llama-3.1-8b", "h100-sxm", options).activation_bytes ==
        16384LL * (2 * 4096 + 28672 + 14336) * 2);
  options.max_num_batched_tokens = 2048;
  options.max_num_seqs = 256;
  CHECK(budget("llama-3.1-8b", "h100-sxm", options).activation_bytes ==
        2048LL * 4096 * 2 + 256LL * 128256 * 26);
}

TEST_CASE("tensor parallelism divides layers, tables and KV heads", "[unit]") {
  MemoryOptions options;
  options.tensor_parallel_size = 4;
  const MemoryBudget b = budget("llama-3.1-70b", "h100-sxm", options);
  const double rotary = 131072.0 * 128 * 2;
  CHECK(static_cast<double>(b.weight_bytes) - rotary ==
        Approx(2 * 70553706496.0 / 4).epsilon(1e-4));
  CHECK(b.block_bytes == 2 * 16 * 2 * 128 * 2 * 80);
  // More ranks than KV heads: a head is kept twice, not halved.
  options.tensor_parallel_size = 16;
  CHECK(budget("llama-3.1-70b", "h100-sxm", options).block_bytes == 2 * 16 * 1 * 128 * 2 * 80);
}

TEST_CASE("pipeline parallelism is as roomy as its tightest stage", "[unit]") {
  MemoryOptions options;
  options.pipeline_parallel_size = 3;  // 32 layers: 10 + 11 + 10... the remainder before the last
  const MemoryBudget b = budget("llama-3.1-8b", "l40s", options);
  CHECK(b.block_bytes == 2 * 16 * 8 * 128 * 2 * 11);
  options.pipeline_parallel_size = 2;
  CHECK(budget("llama-3.1-8b", "l40s", options).block_bytes == 2 * 16 * 8 * 128 * 2 * 16);
}

TEST_CASE("experts are split by width under TP and by number under EP", "[unit]") {
  MemoryOptions tp, ep;
  tp.tensor_parallel_size = 2;
  ep.expert_parallel_size = 2;
  const std::int64_t experts = 48LL * 128 * 3 * 2048 * 768;
  const MemoryBudget one = budget("qwen3-30b-a3b", "h100-sxm");
  const MemoryBudget by_number = budget("qwen3-30b-a3b", "h100-sxm", ep);
  CHECK(one.weight_bytes - by_number.weight_bytes == experts / 2 * 2);
  CHECK(by_number.block_bytes == one.block_bytes);
  const MemoryBudget by_width = budget("qwen3-30b-a3b", "h100-sxm", tp);
  CHECK(by_width.weight_bytes < by_number.weight_bytes);  // attention is split, too
  CHECK(by_width.block_bytes == one.block_bytes / 2);
}

TEST_CASE("fp8 weights and cache", "[unit]") {
  MemoryOptions fp8;
  fp8.precision = {DType::kFp8, DType::kFp8, DType::kFp8};
  const MemoryBudget wide = budget("llama-3.1-8b", "h100-sxm");
  const MemoryBudget narrow = budget("llama-3.1-8b", "h100-sxm", fp8);
  CHECK(narrow.block_bytes * 2 == wide.block_bytes);
  CHECK(narrow.weight_bytes < wide.weight_bytes * 6 / 10);
  CHECK(narrow.num_gpu_blocks > 2 * wide.num_gpu_blocks);
}

TEST_CASE("a pinned cache is taken as it is", "[unit]") {
  MemoryOptions options;
  options.num_gpu_blocks_override = 18038;
  const MemoryBudget b = budget("qwen3-14b", "h100-sxm", options);
  CHECK(b.num_gpu_blocks == 18038);
  CHECK(b.pinned);
  CHECK(b.kv_cache_bytes == 18038LL * 16 * 163840);
  options.num_gpu_blocks_override = 0;
  options.kv_cache_memory_bytes = 10'000'000'000;
  CHECK(budget("qwen3-14b", "h100-sxm", options).num_gpu_blocks == 10'000'000'000 / (16 * 163840));
}

TEST_CASE("a pin that the GPU cannot hold is refused", "[unit]") {
  MemoryOptions options;
  options.num_gpu_blocks_override = 1'000'000;
  CHECK(refusal("qwen3-14b", "h100-sxm", options).place == "engine.num_gpu_blocks_override");
  options.num_gpu_blocks_override = INT64_MAX;
  CHECK(refusal("qwen3-14b", "h100-sxm", options).place == "engine.num_gpu_blocks_override");
  options.num_gpu_blocks_override = 0;
  options.kv_cache_memory_bytes = 1000;  // less than one block
  CHECK(refusal("qwen3-14b", "h100-sxm", options).place == "engine.kv_cache_memory_bytes");
}

TEST_CASE("a model that does not fit says by how much and what would do", "[unit]") {
  const auto parts = refusal("llama-2-70b", "h100-sxm", {});
  CHECK(parts.file == "demo.json");
  CHECK(parts.place == "model");
  CHECK_THAT(parts.found, ContainsSubstring("weights 137.95 GB"));
  CHECK_THAT(parts.found, ContainsSubstring("h100-sxm gives 76.53 GB (0.9 of 85.03 GB)"));
  CHECK_THAT(parts.found, ContainsSubstring("too little"));
  CHECK_THAT(parts.expected, ContainsSubstring("a GPU of at least"));
  // Half of 138 GB is 69: with what else is needed it fits 76.5.
  CHECK_THAT(parts.expected, ContainsSubstring("parallel.tensor_parallel_size 2"));
  MemoryOptions two;
  two.tensor_parallel_size = 2;
  CHECK(budget("llama-2-70b", "h100-sxm", two).num_gpu_blocks > 0);
}

TEST_CASE("a sequence of max_model_len must fit the cache", "[unit]") {
  MemoryOptions options;
  options.num_gpu_blocks_override = 2588;
  options.max_model_len = 50000;
  const auto parts = refusal("llama-3.1-8b", "rtx-4090", options);
  CHECK(parts.place == "engine.max_model_len");
  CHECK_THAT(parts.expected, ContainsSubstring("max_model_len <= 41392"));  // 2587 x 16
  options.max_model_len = 41392;
  CHECK_NOTHROW(budget("llama-3.1-8b", "rtx-4090", options));
  options.max_model_len = 41393;
  CHECK(refusal("llama-3.1-8b", "rtx-4090", options).place == "engine.max_model_len");
  options.max_model_len = 0;  // the model's own 131072
  CHECK_THAT(refusal("llama-3.1-8b", "rtx-4090", options).found,
             ContainsSubstring("131072 (the model's own)"));
}

TEST_CASE("parallel sizes that do not divide the model", "[unit]") {
  MemoryOptions options;
  options.tensor_parallel_size = 3;
  CHECK(refusal("llama-3.1-8b", "h100-sxm", options).place == "parallel.tensor_parallel_size");
  options.tensor_parallel_size = 1;
  options.pipeline_parallel_size = 33;
  CHECK(refusal("llama-3.1-8b", "h100-sxm", options).place == "parallel.pipeline_parallel_size");
  options.pipeline_parallel_size = 1;
  options.expert_parallel_size = 2;
  CHECK(refusal("llama-3.1-8b", "h100-sxm", options).place == "parallel.expert_parallel_size");
}

TEST_CASE("CUDA graphs are shown, and gone under enforce_eager", "[unit]") {
  MemoryOptions options;
  // 51 captured sizes, 35 of them up to 256 sequences, as vLLM's log of that setting says.
  CHECK(budget("llama-3.1-8b", "h100-sxm", options).cuda_graph_bytes == (51 + 35) * (8LL << 20));
  options.enforce_eager = true;
  CHECK(budget("llama-3.1-8b", "h100-sxm", options).cuda_graph_bytes == 0);
}

}  // namespace
}  // namespace headway
