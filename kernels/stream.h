#pragma once

namespace headway::kernels {

// Where a call is queued: a cudaStream_t on a GPU, nothing under the emulator and on a CPU (a call
// has ended when it returns). A value: copy it. Host code can hold one without a CUDA header.
struct Stream {
  void* handle = nullptr;
};

}  // namespace headway::kernels
