// planted BUG | clean: runs one planted bug, or every fixed kernel in every mode, under the
// sanitizer that this program was built with. ctest expects the sanitizer's report of the first,
// and none of the second.

#include <cstdio>
#include <cstring>
#include <exception>

#include "kernels/tests/planted/bugs.h"

namespace headway::kernels::planted {
namespace {

int run(const char* name) {
  int ran = 0;
  for (const Bug& bug : bugs()) {
    if (std::strcmp(name, "clean") == 0) {
      for (const emu::Mode& mode : emu::all_modes()) {
        const emu::ScopedMode scoped(mode);
        bug.fixed();
        ++ran;
      }
    } else if (std::strcmp(name, bug.name) == 0) {
      bug.broken();
      ++ran;
    }
  }
  std::printf("ran %d\n", ran);
  return ran > 0 ? 0 : 2;
}

}  // namespace
}  // namespace headway::kernels::planted

int main(int argc, char** argv) {
  try {
    return argc == 2 ? headway::kernels::planted::run(argv[1]) : 2;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
