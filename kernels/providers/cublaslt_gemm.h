#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace headway::kernels {

// How operands are stored. Results are bf16 and sums f32 in each.
enum class GemmFormat {
  kBf16,
  kFp8Tensor,  // e4m3, one f32 scale for all of x and one for all of W; fast accumulation, as
               // engines use
  kFp8Block,  // e4m3, one f32 scale per 128 columns of a token (x) and per 128x128 block (W); sm_90
};

// Sizes of the scales' buffers, in floats, and where a scale lies. x: token t, columns 128 b ..; W:
// features 128 r .., columns 128 b ... (cuBLAS documentation, "128-element 1D and 128x128 2D Block
// Scaling".)
struct GemmScales {
  GemmFormat format;
  int m, n, k;
  std::size_t x_count() const;
  std::size_t w_count() const;
  std::size_t x_at(int token, int column) const;
  std::size_t w_at(int feature, int column) const;
};

// y[m][n] = x[m][k] * W[n][k]^T by cuBLASLt, by the algorithm that its heuristics put first.
class CublasLtGemm {
 public:
  static constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

  // Empty when cuBLASLt is here, else why not.
  static std::string why_not();

  // Describes the product (works without a GPU).
  CublasLtGemm(GemmFormat format, int m, int n, int k);
  ~CublasLtGemm();
  CublasLtGemm(CublasLtGemm&&) noexcept;

  // Asks the heuristics of the current device, which look at the scales' addresses too (nullptr for
  // bf16). Throws std::runtime_error with cuBLASLt's words when there is no algorithm.
  void choose_algorithm(const float* x_scales, const float* w_scales);

  // Queues the product. Device pointers, 16-byte aligned; scales nullptr for bf16; workspace of
  // kWorkspaceBytes. REQUIRES: choose_algorithm().
  void run(const void* x, const void* w, const float* x_scales, const float* w_scales, void* y,
           void* workspace, void* cuda_stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headway::kernels
