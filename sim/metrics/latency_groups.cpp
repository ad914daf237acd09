#include "sim/metrics/latency_groups.h"

#include <algorithm>
#include <bit>

#include "sim/metrics/slo.h"

namespace headway {
namespace {

constexpr int kDigits = 4;  // binary digits of a latency that its bin keeps below the first
constexpr double kEdges[] = {0, 0.5, 0.9, 0.99, 1};

std::size_t bin_of(std::int64_t ns) {
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(ns)));
  const int shift = std::max(0, bits - 1 - kDigits);
  return static_cast<std::size_t>((shift << kDigits) + (ns >> shift));
}

}  // namespace

void LatencyGroups::on_finish(const RequestRecord& r) {
  if (r.failed) return;
  const std::size_t at = bin_of(std::max<std::int64_t>(0, e2el_of(r).ns()));
  if (at >= bins_.size()) bins_.resize(at + 1);
  ++bins_[at].count;
  ++count_;
  for (std::size_t i = 0; i < kLatencyParts; ++i) {
    bins_[at].part_ns[i] += static_cast<double>(r.split[i].ns());
  }
}

std::vector<LatencyGroup> LatencyGroups::groups() const {
  std::vector<LatencyGroup> out;
  for (std::size_t g = 0; g + 1 < std::size(kEdges); ++g) {
    const double from = kEdges[g] * static_cast<double>(count_);
    const double to = kEdges[g + 1] * static_cast<double>(count_);
    if (to - from < 1) continue;
    LatencyGroup group{kEdges[g], kEdges[g + 1], to - from, {}};
    double below = 0;
    for (const Bin& bin : bins_) {
      const auto count = static_cast<double>(bin.count);
      const double inside = std::min(to, below + count) - std::max(from, below);
      below += count;
      if (inside <= 0) continue;
      for (std::size_t i = 0; i < kLatencyParts; ++i) {
        group.mean_ms[i] += bin.part_ns[i] * (inside / count) / group.requests / 1e6;
      }
    }
    out.push_back(group);
  }
  return out;
}

}  // namespace headway
