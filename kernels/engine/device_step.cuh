#pragma once

// What a step of the GPU engine needs beside the kernels of kernels/ops: copies of rows, and the
// step's integers on the device.
#include <cstdint>
#include <vector>

#include "kernels/rt/rt.h"

namespace headway::kernels {

// to[r] = from[index[r]], or from[r] without an index; rows `stride` elements apart, width a
// multiple of 8. One thread takes 16 bytes.
struct CopyRows {
  bf16* to;
  const bf16* from;
  const std::int32_t* index;
  std::int64_t from_stride;
  int rows, width;
};

inline constexpr int kCopyThreads = 256;

static __global__ void __launch_bounds__(kCopyThreads) copy_rows_kernel(CopyRows p) {
  constexpr int kVector = Pack16<bf16>::kCount;
  const int vectors = p.width / kVector;
  const std::int64_t item = std::int64_t{blockIdx.x} * kCopyThreads + threadIdx.x;
  const int row = static_cast<int>(item / vectors);
  if (row >= p.rows) return;
  const int column = static_cast<int>(item - std::int64_t{row} * vectors) * kVector;
  const std::int64_t from = p.index != nullptr ? p.index[row] : row;
  store16(p.to + std::int64_t{row} * p.width + column,
          load16(p.from + from * p.from_stride + column));
}

inline void copy_rows(const CopyRows& p, Stream stream) {
  const std::int64_t items = std::int64_t{p.rows} * (p.width / 8);
  if (items == 0) return;
  launch(&copy_rows_kernel, static_cast<unsigned>((items + kCopyThreads - 1) / kCopyThreads),
         kCopyThreads, 0, stream, p);
}

// The integers of a step in one buffer: each part remembers where it begins.
class StepIntegers {
 public:
  void clear() { values_.clear(); }
  std::size_t add(const std::vector<std::int32_t>& part) {
    const std::size_t at = values_.size();
    values_.insert(values_.end(), part.begin(), part.end());
    values_.resize((values_.size() + 3) / 4 * 4);  // SplitItems are read 16 bytes at a time
    return at;
  }
  void upload() {
    if (buffer_.size() < values_.size()) buffer_ = DeviceBuffer<std::int32_t>(2 * values_.size());
    buffer_.upload(values_);
  }
  const std::int32_t* at(std::size_t place) const { return buffer_.data() + place; }

 private:
  std::vector<std::int32_t> values_;
  DeviceBuffer<std::int32_t> buffer_;
};

}  // namespace headway::kernels
