#pragma once

#include <vector>

#include "kernels/profiler/backend.h"

namespace headway::kernels {

// How many buffer sets each part gets: enough that together they exceed `rotate_bytes` (so that a
// set has left the cache when its turn comes again), at most 64, and no more than memory holds.
// Throws DoesNotFit when one set does not.
int rotation_copies(const Sequence& sequence, double rotate_bytes, double memory_bytes);

// The buffers of a sequence on one device, launched one whole sequence at a time.
class Rotation {
 public:
  Rotation(const Sequence& sequence, int copies, std::uint64_t seed);

  void launch(Stream stream);  // the whole sequence once, on the next sets
  int copies() const { return copies_; }

 private:
  int copies_;
  std::vector<std::unique_ptr<Prepared>> parts_;
  std::vector<int> order_;
  std::vector<int> next_;  // by part
};

}  // namespace headway::kernels
