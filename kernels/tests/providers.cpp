// What can be tried of the providers without a GPU: that libraries are found or named, that every
// variant can be described to them, that a wrong one is refused. Built where nvcc is; a library
// that is not on the machine is said, not failed. Results are checked on a GPU, by
// kernel_tests_cuda.

#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include "kernels/providers/cublaslt_gemm.h"
#include "kernels/providers/cudnn_sdpa.h"

namespace headway::kernels {
namespace {

int failed = 0;

void expect(bool fine, const std::string& what, const std::string& words) {
  std::printf("%s %s\n", fine ? "ok    " : "FAILED", (fine ? what : what + ": " + words).c_str());
  if (!fine) ++failed;
}

// What a call threw; empty when it did not.
std::string thrown(const std::function<void()>& call) {
  try {
    call();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void try_cublaslt() {
  if (const std::string why = CublasLtGemm::why_not(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return;
  }
  for (const GemmFormat format :
       {GemmFormat::kBf16, GemmFormat::kFp8Tensor, GemmFormat::kFp8Block}) {
    const std::string what = "cuBLASLt format " + std::to_string(static_cast<int>(format));
    const std::string why = thrown([&] { CublasLtGemm gemm(format, 16, 256, 512); });
    expect(why.empty(), what + " is described", why);
    const std::string choice =
        thrown([&] { CublasLtGemm(format, 16, 256, 512).choose_algorithm(nullptr, nullptr); });
    // Without a GPU there is no handle; with one there is an algorithm, or none for that GPU.
    expect(choice.empty() || contains(choice, "cuBLASLt"), what + ": choosing", choice);
  }
}

SdpaShape shape(const char* dtype, std::int64_t new_tokens, bool causal, std::int64_t window) {
  SdpaShape s;
  s.dtype = dtype;
  s.batch = 4;
  s.heads = 32;
  s.kv_heads = 8;
  s.new_tokens = new_tokens;
  s.kv_tokens = 1000;
  s.pages = 4 * 63;
  s.causal = causal;
  s.window = window;
  return s;
}

void try_cudnn() {
  if (const std::string why = CudnnSdpa::why_not(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return;
  }
  for (const char* dtype : {"bf16", "fp16"})
    for (const SdpaShape& s : {shape(dtype, 1, false, 0), shape(dtype, 1000, true, 0),
                               shape(dtype, 64, true, 0), shape(dtype, 64, true, 32)}) {
      const std::string what = std::string("cuDNN ") + dtype + ", " + std::to_string(s.new_tokens) +
                               " new, window " + std::to_string(s.window);
      const std::string why = thrown([&] { CudnnSdpa attention(s); });
      expect(why.empty(), what + " is described", why);
      // The graph is taken by an engine of an H200 that is only described; what is missing is a
      // driver.
      const std::string plan = thrown([&] { CudnnSdpa(s).build_plan(CudnnSdpa::h200_json()); });
      expect(plan.empty() || contains(plan, "libcuda") || contains(plan, "CUDA_DRIVER"),
             what + ": a plan", plan);
    }
  SdpaShape wrong = shape("bf16", 1, false, 0);
  wrong.kv_heads = 7;
  std::string words = thrown([&] { CudnnSdpa attention(wrong); });
  expect(contains(words, "h_q"), "cuDNN refuses 32 heads over 7", words);
  wrong = shape("bf16", 1, false, 0);
  wrong.page_tokens = 24;
  words = thrown([&] { CudnnSdpa attention(wrong); });
  expect(contains(words, "power of 2"), "cuDNN refuses pages of 24 tokens", words);
}

}  // namespace
}  // namespace headway::kernels

int main() {
  headway::kernels::try_cublaslt();
  headway::kernels::try_cudnn();
  return headway::kernels::failed == 0 ? 0 : 1;
}
