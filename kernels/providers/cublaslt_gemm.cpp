#include "kernels/providers/cublaslt_gemm.h"

#include <stdexcept>

#include "kernels/providers/shared_library.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif

namespace headway::kernels {

std::size_t GemmScales::x_count() const {
  const std::size_t blocks = static_cast<std::size_t>((k + 127) / 128);
  return format == GemmFormat::kFp8Block ? blocks * static_cast<std::size_t>(m) : 1;
}
std::size_t GemmScales::w_count() const {
  const auto blocks = static_cast<std::size_t>((k + 127) / 128),
             rows = static_cast<std::size_t>((n + 127) / 128);
  return format == GemmFormat::kFp8Block ? (blocks + 3) / 4 * 4 * rows : 1;
}
std::size_t GemmScales::x_at(int token, int column) const {
  return format == GemmFormat::kFp8Block
             ? static_cast<std::size_t>(column / 128) * static_cast<std::size_t>(m) +
                   static_cast<std::size_t>(token)
             : 0;
}
std::size_t GemmScales::w_at(int feature, int column) const {
  const auto blocks = static_cast<std::size_t>((k + 127) / 128);
  return format == GemmFormat::kFp8Block
             ? static_cast<std::size_t>(feature / 128) * ((blocks + 3) / 4 * 4) +
                   static_cast<std::size_t>(column / 128)
             : 0;
}

// The block scale modes came with CUDA 12.9.
#if __has_include(<cublasLt.h>) && defined(CUBLAS_VERSION) && CUBLAS_VERSION >= 120900

namespace {

struct CublasLtApi {
  SharedLibrary library;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetStatusString) status_string = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;

  void check(cublasStatus_t status, const std::string& doing) const {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLASLt, " + doing + ": " + status_string(status));
  }
};

CublasLtApi load_api() {
  CublasLtApi api;
  api.library = SharedLibrary::open(cublaslt_query());
  SharedLibrary& library = api.library;
  library.bind(api.create, "cublasLtCreate");
  library.bind(api.destroy, "cublasLtDestroy");
  library.bind(api.status_string, "cublasLtGetStatusString");
  library.bind(api.desc_create, "cublasLtMatmulDescCreate");
  library.bind(api.desc_destroy, "cublasLtMatmulDescDestroy");
  library.bind(api.desc_set, "cublasLtMatmulDescSetAttribute");
  library.bind(api.layout_create, "cublasLtMatrixLayoutCreate");
  library.bind(api.layout_destroy, "cublasLtMatrixLayoutDestroy");
  library.bind(api.preference_create, "cublasLtMatmulPreferenceCreate");
  library.bind(api.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  library.bind(api.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  library.bind(api.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  library.bind(api.matmul, "cublasLtMatmul");
  return api;
}

const CublasLtApi& api() {
  static const CublasLtApi loaded = load_api();
  return loaded;
}

// One handle for the process: making one costs milliseconds and device memory.
cublasLtHandle_t handle() {
  static const cublasLtHandle_t made = [] {
    cublasLtHandle_t h = nullptr;
    api().check(api().create(&h), "creating a handle");
    return h;
  }();
  return made;
}

}  // namespace

// cuBLAS thinks in columns: our rows of x and W are its columns, so y^T[n][m] = W^T x with W
// transposed (k first in both operands, which is also the one order that fp8 takes).
struct CublasLtGemm::State {
  State(GemmFormat f, int m_, int n_, int k_) : format(f), m(m_), n(n_), k(k_) {}
  ~State() {
    if (description != nullptr) api().desc_destroy(description);
    for (cublasLtMatrixLayout_t layout : {w_layout, x_layout, y_layout})
      if (layout != nullptr) api().layout_destroy(layout);
  }
  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, const V& value, const char* doing) {
    api().check(api().desc_set(description, attribute, &value, sizeof value), doing);
  }
  void set_scales(const float* x_scales, const float* w_scales) {
    if (format == GemmFormat::kBf16) return;
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, w_scales, "scales of W");
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, x_scales, "scales of x");
  }

  GemmFormat format;
  int m, n, k;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t w_layout = nullptr, x_layout = nullptr, y_layout = nullptr;
  cublasLtMatmulHeuristicResult_t chosen{};
};

std::string CublasLtGemm::why_not() { return api().library.why_not(); }

CublasLtGemm::CublasLtGemm(GemmFormat format, int m, int n, int k)
    : state_(std::make_unique<State>(format, m, n, k)) {
  if (const std::string why = why_not(); !why.empty()) throw std::runtime_error(why);
  State& s = *state_;
  api().check(api().desc_create(&s.description, CUBLAS_COMPUTE_32F, CUDA_R_32F),
              "describing a product");
  s.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T, "transposing W");
  s.set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N, "not transposing x");
  if (format == GemmFormat::kFp8Tensor)
    s.set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1}, "fast accumulation");
  if (format == GemmFormat::kFp8Block) {
    s.set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F,
          "block scales of W");
    s.set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
          "vector scales of x");
  }
  const cudaDataType_t in = format == GemmFormat::kBf16 ? CUDA_R_16BF : CUDA_R_8F_E4M3;
  const auto columns = static_cast<std::uint64_t>(k), features = static_cast<std::uint64_t>(n);
  api().check(api().layout_create(&s.w_layout, in, columns, features, k), "layout of W");
  api().check(api().layout_create(&s.x_layout, in, columns, static_cast<std::uint64_t>(m), k),
              "layout of x");
  api().check(
      api().layout_create(&s.y_layout, CUDA_R_16BF, features, static_cast<std::uint64_t>(m), n),
      "layout of y");
}

CublasLtGemm::~CublasLtGemm() = default;
CublasLtGemm::CublasLtGemm(CublasLtGemm&&) noexcept = default;

void CublasLtGemm::choose_algorithm(const float* x_scales, const float* w_scales) {
  State& s = *state_;
  s.set_scales(x_scales, w_scales);
  cublasLtMatmulPreference_t preference = nullptr;
  api().check(api().preference_create(&preference), "making a preference");
  const std::size_t workspace = kWorkspaceBytes;
  int found = 0;
  cublasStatus_t status = api().preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &workspace, sizeof workspace);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = api().heuristic(handle(), s.description, s.w_layout, s.x_layout, s.y_layout,
                             s.y_layout, preference, 1, &s.chosen, &found);
  api().preference_destroy(preference);
  const std::string what = "an algorithm for m " + std::to_string(s.m) + ", n " +
                           std::to_string(s.n) + ", k " + std::to_string(s.k);
  api().check(status, "asking for " + what);
  if (found == 0) throw std::runtime_error("cuBLASLt has no algorithm: " + what);
}

void CublasLtGemm::run(const void* x, const void* w, const float* x_scales, const float* w_scales,
                       void* y, void* workspace, void* cuda_stream) {
  State& s = *state_;
  s.set_scales(x_scales, w_scales);
  const float one = 1.0f, zero = 0.0f;
  api().check(api().matmul(handle(), s.description, &one, w, s.w_layout, x, s.x_layout, &zero, y,
                           s.y_layout, y, s.y_layout, &s.chosen.algo, workspace, kWorkspaceBytes,
                           static_cast<cudaStream_t>(cuda_stream)),
              "the product");
}

#else

struct CublasLtGemm::State {};
std::string CublasLtGemm::why_not() {
  return "cuBLASLt: built without its headers (12.9 or newer)";
}
CublasLtGemm::CublasLtGemm(GemmFormat, int, int, int) { throw std::runtime_error(why_not()); }
CublasLtGemm::~CublasLtGemm() = default;
CublasLtGemm::CublasLtGemm(CublasLtGemm&&) noexcept = default;
void CublasLtGemm::choose_algorithm(const float*, const float*) {}
void CublasLtGemm::run(const void*, const void*, const float*, const float*, void*, void*, void*) {}

#endif

}  // namespace headway::kernels
