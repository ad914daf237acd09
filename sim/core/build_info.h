#pragma once

#include <string>

namespace headway {

// "0.1.0", with "+HASH" of the source's commit where it is known.
std::string program_version();
// Whether this build has the CUDA kernels.
bool built_with_cuda();

}  // namespace headway
