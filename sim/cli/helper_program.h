#pragma once

#include <string>
#include <vector>

namespace headway {

// Programs that stand beside this one and link what it must not (CUDA, BLAS): headway-profile,
// headway-validate. `headway profile ...` is one of them, run in this process's place.
//
// Does not return: the helper's exit code is the program's. InputError when it is not there (a build
// without kernels) or cannot be started.
[[noreturn]] void become_helper(const std::string& program,
                                const std::vector<std::string>& arguments);

// Where that program would be: the folder of this executable.
std::string helper_path(const std::string& program);

}  // namespace headway
