#include "sim/core/build_info.h"

namespace headway {

std::string program_version() {
  const std::string hash = HEADWAY_GIT_HASH;
  return std::string(HEADWAY_VERSION) + (hash.empty() ? "" : "+" + hash);
}

bool built_with_cuda() { return HEADWAY_WITH_CUDA != 0; }

}  // namespace headway
