// Each importer on a few rows whose converted values are worked out by hand.
#include "sim/cost/import/importers.h"

#include <nlohmann/json.hpp>

#include "sim/cli/import_command.h"
#include "sim/core/errors.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace headway {
namespace {

using test::TempFolder;
using Keys = std::vector<std::int64_t>;
using Times = std::vector<double>;

constexpr const char* kGemmHeader = "kernel_source,gemm_dtype,m,n,k,latency_ms\n";

void write_gemm(const TempFolder& f, const std::string& rows) {
  f.write("h100_sxm/vllm-9.9/gemm_perf.csv.gz", kGemmHeader + rows);
}

Profile aiconfigurator(const TempFolder& f) {
  std::vector<Profile> profiles = import_aiconfigurator(f.path(), nullptr);
  REQUIRE(profiles.size() == 1);
  return profiles[0];
}

TEST_CASE("AIConfigurator: products, kept types and sites", "[unit]") {
  TempFolder f;
  write_gemm(f,
             "lin,bfloat16,8,512,1024,0.0123412\n"
             "lin,bfloat16,1,512,1024,0.00475\n"
             "lin,bfloat16,0,512,1024,0.0005\n"     // no tokens
             "lin,bfloat16,8,64,1024,0.0123\n"      // n < 128
             "lin,bfloat16,8,512,128,0.0123\n"      // k < 256
             "lin,nvfp4,8,512,1024,0.001\n"         // a type we leave out
             "cut,fp8,8,512,1024,0.01\n"
             "deep,fp8_block,8,512,1024,0.02\n");
  const Profile p = aiconfigurator(f);
  CHECK(p.name == "h100-sxm/vllm-9.9");
  CHECK(p.gpu == "h100-sxm");
  REQUIRE(p.tables.size() == 3);
  CHECK(p.tables[0].variant ==
        std::map<std::string, std::string>{{"weights", "bf16"}, {"activations", "bf16"}});
  CHECK(p.tables[0].keys == Keys{512, 1024, 1, 512, 1024, 8});
  CHECK(p.tables[0].time_us == Times{4.75, 12.34});
  CHECK(p.tables[1].variant.at("scaling") == "tensor");
  CHECK(p.tables[1].time_us == Times{10});
  CHECK(p.tables[2].variant.at("scaling") == "block");
  CHECK(p.find("gemm", {{"weights", "fp8"}}) == &p.tables[1]);
  const auto provenance = nlohmann::json::parse(p.provenance_json);
  CHECK(provenance["engine"] == "vllm");
  CHECK(provenance["engine_version"] == "9.9");
  CHECK(provenance["licence"] == "Apache-2.0");
}

TEST_CASE("AIConfigurator: attention lengths, head size, window, duplicates", "[unit]") {
  TempFolder f;
  write_gemm(f, "lin,bfloat16,8,512,1024,0.01\n");
  const std::string header =
      "kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,"
      "kv_cache_dtype,step,window_size,latency_ms\n";
  f.write("h100_sxm/vllm-9.9/generation_attention_perf.csv.gz",
          header + "fa3,4,1,40,8,128,bfloat16,bfloat16,1023,0,0.02\n"
                   "fa3,4,1,40,8,128,bfloat16,bfloat16,1023,0,0.03\n"
                   "fa3,4,1,40,8,128,bfloat16,fp8,1,0,0.015\n"
                   "fa3,4,1,40,8,64,bfloat16,bfloat16,1023,0,0.5\n"
                   "fa3,4,1,40,8,128,bfloat16,bfloat16,1023,128,0.5\n"
                   "fa3,4,1,40,8,128,fp8,fp8,1,0,0.5\n");
  f.write("h100_sxm/vllm-9.9/context_attention_perf.csv.gz",
          header + "fa3,2,2048,40,8,128,bfloat16,bfloat16,0,0,0.4\n"
                   "fa4,2,2048,40,8,128,bfloat16,bfloat16,0,0,0.3\n"
                   "fa3,2,4096,40,8,128,bfloat16,bfloat16,0,0,1.2\n");
  const Profile p = aiconfigurator(f);
  const ProfileTable* decode = p.find("attn_decode", {{"kv", "bf16"}, {"window", "0"}});
  REQUIRE(decode != nullptr);
  CHECK(decode->keys == Keys{40, 8, 4, 1024});  // step 1023: the new token makes it 1024
  CHECK(decode->time_us == Times{25});
  CHECK(decode->low_us == Times{20});
  CHECK(decode->high_us == Times{30});
  const ProfileTable* fp8 = p.find("attn_decode", {{"kv", "fp8"}});
  REQUIRE(fp8 != nullptr);
  CHECK(fp8->keys == Keys{40, 8, 4, 2});
  const ProfileTable* prefill = p.find("attn_prefill", {{"kv", "bf16"}});
  REQUIRE(prefill != nullptr);
  CHECK(prefill->keys == Keys{40, 8, 2, 2048, 40, 8, 2, 4096});
  CHECK(prefill->time_us == Times{400, 1200});  // fa3, which has most rows
}

TEST_CASE("AIConfigurator: messages in bytes, experts by load", "[unit]") {
  TempFolder f;
  write_gemm(f, "lin,bfloat16,8,512,1024,0.01\n");
  f.write("h100_sxm/vllm-9.9/custom_allreduce_perf.csv.gz",
          "kernel_source,allreduce_dtype,num_gpus,message_size,backend,latency_ms\n"
          "vLLM_custom_eager,bfloat16,2,128,vllm_eager,0.02\n"
          "vLLM_custom_graph,bfloat16,2,128,vllm_graph,0.005\n");
  f.write("h100_sxm/nccl-1.0/nccl_perf.csv.gz",
          "op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency_ms\n"
          "all_reduce,NCCL,half,4,256,0.01\n"
          "all_reduce,NCCL,half,4,256,0.02\n"
          "all_reduce,NCCL,int8,4,256,0.5\n"
          "alltoall,NCCL,half,4,512,0.03\n");
  f.write("h100_sxm/vllm-9.9/moe_perf.csv.gz",
          "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
          "moe_ep_size,distribution,latency_ms\n"
          "tri,bfloat16,64,2048,768,8,128,1,2,balanced,0.1\n"
          "tri,bfloat16,64,2048,768,8,128,1,2,power_law_1.2,0.2\n"
          "tri,bfloat16,64,2048,768,8,128,1,2,power_law_1.01,0.3\n");
  const Profile p = aiconfigurator(f);
  CHECK(p.find("all_reduce", {{"impl", "custom-graph"}})->keys == Keys{2, 256});
  CHECK(p.find("all_reduce", {{"impl", "custom-graph"}})->time_us == Times{5});
  CHECK(p.find("all_reduce", {{"impl", "custom-eager"}})->time_us == Times{20});
  CHECK(p.find("all_reduce", {{"impl", "nccl"}})->keys == Keys{4, 512});
  CHECK(p.find("all_reduce", {{"impl", "nccl"}})->time_us == Times{15});
  CHECK(p.find("all_to_all", {{"impl", "nccl"}})->keys == Keys{4, 1024});
  const ProfileTable* moe = p.find("moe", {{"weights", "bf16"}, {"distribution", "power_law_1.2"}});
  REQUIRE(moe != nullptr);
  CHECK(moe->keys == Keys{2048, 768, 8, 128, 1, 2, 64});
  CHECK(moe->time_us == Times{200});
  CHECK(p.find("moe", {{"distribution", "balanced"}})->time_us == Times{100});
  CHECK(p.find("moe", {{"distribution", "power_law_1.01"}}) == nullptr);
}

TEST_CASE("AIConfigurator: a damaged table names file and line, nothing is written", "[unit]") {
  const std::string bad[] = {"lin,bfloat16,8,512,1024,nan\n", "lin,bfloat16,8,512,1024,0\n",
                             "lin,bfloat16,8,512,1024\n", "lin,bfloat16,8.5,512,1024,0.01\n"};
  for (const std::string& row : bad) {
    INFO(row);
    TempFolder f, out;
    write_gemm(f, "lin,bfloat16,4,512,1024,0.01\n" + row);
    try {
      import_profiles("aiconfigurator", f.path(), out.path(), nullptr);
      FAIL("a bad row was imported");
    } catch (const InputError& error) {
      CHECK_THAT(error.parts().file, ContainsSubstring("gemm_perf"));
      CHECK(error.parts().place == "line 3");
    }
    CHECK(out.entries() == 0);
  }
  TempFolder f;
  f.write("h100_sxm/vllm-9.9/gemm_perf.csv.gz", "kernel_source,gemm_dtype,m,n,latency_ms\n");
  CHECK_THROWS_WITH(import_aiconfigurator(f.path(), nullptr),
                    ContainsSubstring("no column \"k\""));
  TempFolder empty;
  CHECK_THROWS_AS(import_aiconfigurator(empty.path(), nullptr), InputError);
  CHECK_THROWS_AS(import_aiconfigurator(empty / "none", nullptr), InputError);
}

TEST_CASE("LLMServingSim: layers, per-sequence work, mixed and skewed attention", "[unit]") {
  TempFolder f;
  const std::string at = "RTX4090/Llama-3.1-8B/bf16/tp1/";
  f.write(at + "dense.csv",
          "layer,tokens,time_us\nqkv_proj,1,40.5\nqkv_proj,8,41\nlayernorm,1,3\n");
  f.write(at + "per_sequence.csv", "layer,sequences,time_us\nlm_head,2,687.06\n");
  f.write(at + "attention.csv.gz",
          "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,1,16,8.352\n16,512,4,128,31\n");
  f.write(at + "skew.csv.gz",
          "regime,n,nb,ratio,skew,pc,kp,kvs,kv_big,kv_mean,t_mean_us,t_max_us,t_skew_us,alpha\n"
          "pure,2,1,0.5,4.0,0,0,128,512,320,46.497,50.143,47.297,0.2194\n");
  f.write(at + "moe.csv", "tokens,activated_experts,time_us\n2,16,134.976\n");
  const std::vector<Profile> profiles = import_llmservingsim(f.path(), nullptr);
  REQUIRE(profiles.size() == 1);
  const Profile& p = profiles[0];
  CHECK(p.name == "rtx-4090/llmservingsim-vllm-0.19.0");
  CHECK(p.gpu == "rtx-4090");
  const std::map<std::string, std::string> model{{"model", "llama-3.1-8b"}, {"tp", "1"}};
  auto qkv = model;
  qkv["layer"] = "qkv_proj";
  CHECK(p.find("layer", qkv)->keys == Keys{1, 8});
  CHECK(p.find("layer", qkv)->time_us == Times{40.5, 41});
  CHECK(p.find("per_sequence", {{"layer", "lm_head"}})->time_us == Times{687.1});
  CHECK(p.find("attn_mixed", model)->keys == Keys{0, 0, 1, 16, 16, 512, 4, 128});
  const Keys skewed{2, 1, 0, 0, 128, 512};
  CHECK(p.find("attn_skew", {{"at", "skew"}})->keys == skewed);
  CHECK(p.find("attn_skew", {{"at", "skew"}})->time_us == Times{47.3});
  CHECK(p.find("attn_skew", {{"at", "mean"}})->time_us == Times{46.5});
  CHECK(p.find("attn_skew", {{"at", "max"}})->time_us == Times{50.14});
  CHECK(p.find("layer_experts", model)->keys == Keys{2, 16});
  const auto provenance = nlohmann::json::parse(p.provenance_json);
  CHECK(provenance["links"]["bytes_per_second"] == 16e9);
  CHECK(provenance["links"]["latency_us"] == 20);
  CHECK(provenance["licence"] == "MIT");
}

TEST_CASE("LLMServingSim: another layout is refused", "[unit]") {
  TempFolder f;
  f.write("RTX4090/model/tp1/dense.csv", "layer,tokens,time_us\n");
  CHECK_THROWS_AS(import_llmservingsim(f.path(), nullptr), InputError);
  TempFolder empty;
  CHECK_THROWS_AS(import_llmservingsim(empty.path(), nullptr), InputError);
}

TEST_CASE("Splitwise: two phases of whole iterations", "[unit]") {
  TempFolder f;
  const std::string header =
      "model,hardware,prompt_size,batch_size,token_size,peak_power,average_power,prompt_time,"
      "token_time,e2e_time,tensor_parallel\n";
  const std::string file =
      f.write("perf_model.csv", header + "llama2-70b,h100-80gb,512,1,128,1,0.7,100,30.5,4000,8\n"
                                         "llama2-70b,h100-80gb,512,1,128,1,0.7,102,30.5,4000,8\n"
                                         "llama2-70b,h100-80gb-pcap,512,1,128,1,0.7,150,40,9,8\n");
  const std::vector<Profile> profiles = import_splitwise(file, nullptr);
  REQUIRE(profiles.size() == 1);
  CHECK(profiles[0].name == "h100-sxm/splitwise-sim");
  const std::map<std::string, std::string> prompt{
      {"model", "llama-2-70b"}, {"gpus", "8"}, {"phase", "prompt"}};
  CHECK(profiles[0].find("iteration", prompt)->keys == Keys{512, 128, 1});
  CHECK(profiles[0].find("iteration", prompt)->time_us == Times{101000});
  CHECK(profiles[0].find("iteration", prompt)->low_us == Times{100000});
  CHECK(profiles[0].find("iteration", {{"phase", "token"}})->time_us == Times{30500});
  CHECK(import_splitwise(f.path(), nullptr).size() == 1);  // the folder will do
}

TEST_CASE("Vidur: layers, collectives within a node, attention, host", "[unit]") {
  TempFolder f;
  std::string header, row;
  for (const char* layer : {"emb", "input_layernorm", "attn_pre_proj", "attn_rope",
                            "attn_post_proj", "mlp_up_proj", "mlp_act", "mlp_down_proj", "add"}) {
    header += std::string("time_stats.") + layer + ".median,";
    row += std::string(layer) == "attn_pre_proj" ? "1.911," : "0.5,";
  }
  f.write("compute/a100/Llama-2-7b-hf/mlp.csv.gz",
          header + "num_tokens,num_tensor_parallel_workers\n" + row + "4096,2\n");
  f.write("network/a100_dgx/all_reduce.csv.gz",
          "time_stats.all_reduce.median,num_workers,size,devices_per_node\n"
          "0.043,2,2048,2\n0.9,2,2048,1\n");
  f.write("old_branch/a100_attention_x.csv.gz",
          "time_stats.attn_decode.median,time_stats.attn_prefill.median,n_embd,n_q_head,n_kv_head,"
          "num_tensor_parallel_workers,batch_size,prefill_chunk_size,kv_cache_size,is_prefill\n"
          "0.015,,8192,64,8,2,4,0,32,False\n,2.316,8192,64,8,2,1,4096,64,True\n");
  f.write("old_branch/a100_cpu_overheads.csv",
          "SCHEDULE_MEDIAN,PREPARE_INPUTS_E2E_MEDIAN,SAMPLER_E2E_MEDIAN,"
          "PROCESS_MODEL_OUTPUTS_MEDIAN,RAY_COMM_TIME_MEDIAN,model_name,batch_size,"
          "tensor_parallel_degree\n0.165,0.293,0.888,0.624,0.156,meta-llama/Llama-2-7b-hf,8,1\n");
  const std::vector<Profile> profiles = import_vidur(f.path(), nullptr);
  REQUIRE(profiles.size() == 1);
  const Profile& p = profiles[0];
  CHECK(p.name == "a100-sxm/vidur-7d47513");
  const ProfileTable* qkv =
      p.find("layer", {{"layer", "qkv_proj"}, {"model", "llama-2-7b"}, {"tp", "2"}});
  REQUIRE(qkv != nullptr);
  CHECK(qkv->keys == Keys{4096});
  CHECK(qkv->time_us == Times{1911});
  CHECK(p.find("all_reduce", {})->keys == Keys{2, 2048});
  CHECK(p.find("all_reduce", {})->time_us == Times{43});
  CHECK(p.find("attn_mixed", {})->keys == Keys{0, 0, 4, 32, 4096, 64, 0, 0});
  CHECK(p.find("attn_mixed", {})->time_us == Times{15, 2316});
  CHECK(p.find("host", {{"part", "sampler"}})->time_us == Times{888});
  TempFolder empty;
  CHECK_THROWS_AS(import_vidur(empty.path(), nullptr), InputError);
}

TEST_CASE("headway import writes what it read, or names the formats", "[unit]") {
  TempFolder f, out;
  write_gemm(f, "lin,bfloat16,8,512,1024,0.01\n");
  import_profiles("aiconfigurator", f.path(), out.path(), nullptr);
  const Profile p = read_profile(out / "h100-sxm/vllm-9.9", "h100-sxm/vllm-9.9");
  CHECK(p.tables[0].time_us == Times{10});
  try {
    import_profiles("aiconfigurater", f.path(), out.path(), nullptr);
    FAIL("an unknown format was accepted");
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("did you mean aiconfigurator"));
  }
}

}  // namespace
}  // namespace headway
