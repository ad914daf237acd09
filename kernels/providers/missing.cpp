#include "kernels/providers/missing.h"

#include "kernels/providers/cublaslt_gemm.h"
#include "kernels/providers/cudnn_sdpa.h"

namespace headway::kernels {

std::vector<std::string> missing_providers() {
  std::vector<std::string> reasons;
  for (const std::string& why : {CublasLtGemm::why_not(), CudnnSdpa::why_not()})
    if (!why.empty()) reasons.push_back(why);
  return reasons;
}

}  // namespace headway::kernels
