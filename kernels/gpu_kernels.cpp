#include "kernels/registry.h"

namespace headway::kernels {

#define KERNEL(name) void add_##name(std::vector<KernelEntry>& table);
#include "kernels/kernel_list.inc"
#undef KERNEL

std::vector<KernelEntry> gpu_kernels() {
  std::vector<KernelEntry> table;
#define KERNEL(name) add_##name(table);
#include "kernels/kernel_list.inc"
#undef KERNEL
  return table;
}

}  // namespace headway::kernels
