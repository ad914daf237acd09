#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// What the two runtimes offer the test runner: runtime_emulated.cpp and runtime_cuda.cpp.
namespace headway::kernels::tests {

// One way to run every check: under the emulator a thread order and a mode of copies.
struct Way {
  std::string name;             // "warp-random/deferred"; "cuda" on a GPU
  std::function<void()> enter;  // makes it so for this OS thread
};
std::vector<Way> ways(std::uint64_t seed);

// Why nothing can run here; "" = it can.
std::string missing_device();

}  // namespace headway::kernels::tests
