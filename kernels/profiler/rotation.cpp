#include "kernels/profiler/rotation.h"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"

namespace headway::kernels {
namespace {

constexpr int kMostCopies = 64;

}  // namespace

int rotation_copies(const Sequence& sequence, double rotate_bytes, double memory_bytes) {
  double rotated = 0, shared = 0;
  for (const Sequence::Part& part : sequence.parts) {
    const Work work = part.entry->work(part.call);
    rotated += work.rotated_bytes;
    shared += work.shared_bytes;
  }
  if (rotated + shared > memory_bytes) throw DoesNotFit("more memory than the device has free");
  if (rotated <= 0) return 1;
  const double wanted = std::ceil(rotate_bytes / rotated);
  const double most = std::floor((memory_bytes - shared) / rotated);
  return static_cast<int>(std::clamp(std::min(wanted, most), 1.0, double{kMostCopies}));
}

Rotation::Rotation(const Sequence& sequence, int copies, std::uint64_t seed)
    : copies_(copies), order_(sequence.order), next_(sequence.parts.size(), 0) {
  for (const Sequence::Part& part : sequence.parts) {
    parts_.push_back(part.entry->prepare(part.call, copies, seed++));
    SIM_CHECK(parts_.back() != nullptr, part.entry->name);
  }
}

void Rotation::launch(Stream stream) {
  for (const int part : order_) {
    const auto p = static_cast<std::size_t>(part);
    parts_[p]->launch(next_[p], stream);
    next_[p] = (next_[p] + 1) % copies_;
  }
}

}  // namespace headway::kernels
