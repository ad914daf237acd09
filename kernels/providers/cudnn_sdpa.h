#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace headway::kernels {

// One attention call that cuDNN is asked for. Queries and results lie as [batch][new_tokens][heads]
// [head_dim]; keys and values as kernels/ops/paged_kv.h has them,
// [page][page_tokens][kv_heads][head_dim].
struct SdpaShape {
  std::string dtype = "bf16";  // or "fp16"
  std::int64_t batch = 1, heads = 1, kv_heads = 1, head_dim = 128;
  std::int64_t new_tokens = 1;  // queries of each sequence
  std::int64_t kv_tokens = 1;   // of the longest sequence, the new ones included
  std::int64_t page_tokens = 16;
  std::int64_t pages = 1;   // in the pool
  bool causal = false;      // new token i of n sees kv tokens 0 .. length - n + i
  std::int64_t window = 0;  // with causal: at most the last `window` of those; 0 = all
};

// Device pointers of one call. Lengths are int32, [batch]; a page table is int32,
// [batch][ceil(kv_tokens / page_tokens)].
struct SdpaPointers {
  const void* q;
  const void* k_pages;
  const void* v_pages;
  void* o;
  const void* q_lengths;
  const void* kv_lengths;
  const void* page_table;
  void* workspace;
};

// cuDNN's answer for one shape: a graph of operations and the execution plan that its heuristics
// put first.
//
// Two graphs, since cuDNN 9.19's SDPA operation has neither a causal mask nor a window: without a
// mask (decode) it is that one operation, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, with page
// tables and lengths; with one (prefill) it is the chain of matmul, mask and softmax operations
// that cuDNN's flash attention engines recognise, reading keys and values through page tables.
// (https://docs.nvidia.com/deeplearning/cudnn/backend, "Attention" and "Graph API".)
class CudnnSdpa {
 public:
  // A device described in words instead of a present one, so that graphs and plans can be tried
  // where there is no GPU (it is cuDNN's CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
  static const char* h200_json();

  // Empty when cuDNN is here and new enough, else why not.
  static std::string why_not();

  // Describes the graph (works without a GPU).
  explicit CudnnSdpa(const SdpaShape& shape);
  ~CudnnSdpa();

  // A plan for the current device, or for a described one. Throws std::runtime_error with cuDNN's
  // words when there is none. For a described device this compiles the kernel, and fails only at
  // loading it into the CUDA driver.
  void build_plan(const char* device_json = nullptr);

  std::int64_t workspace_bytes() const;
  // Remembers a set of buffers and returns its number, 0, 1, ...
  int bind(const SdpaPointers& pointers);
  // Queues the call on a set of buffers. REQUIRES: built for the current device.
  void run(int bound, void* cuda_stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headway::kernels
