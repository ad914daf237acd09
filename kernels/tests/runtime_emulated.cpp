#include "kernels/rt/emulator.h"
#include "kernels/tests/runtime.h"

namespace headway::kernels::tests {

std::vector<Way> ways(std::uint64_t seed) {
  std::vector<Way> result;
  for (const emu::Mode& mode : emu::all_modes(seed)) {
    result.push_back({std::string(emu::order_name(mode.order)) +
                          (mode.deferred_copies ? "/deferred" : "/eager"),
                      [mode] { emu::set_mode(mode); }});
  }
  return result;
}

std::string missing_device() { return ""; }

}  // namespace headway::kernels::tests
