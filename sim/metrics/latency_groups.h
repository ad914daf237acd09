#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/metrics/observer.h"

namespace headway {

// Finished requests between two percentiles of end-to-end latency, and where their time went.
struct LatencyGroup {
  double from_share = 0, to_share = 1;
  double requests = 0;
  std::array<double, kLatencyParts> mean_ms{};  // by LatencyPart; they sum to the group's mean E2EL
};

// Latency parts by how slow a request was, in bounded memory (64 KB): requests are sorted into 16
// bins an octave of their end-to-end latency, and a group's edge within a bin takes a like share of
// each of its sums. The groups' sums add up to those of all requests.
class LatencyGroups final : public Observer {
 public:
  bool hears_steps() const override { return false; }
  void on_finish(const RequestRecord& request) override;

  // Half of all, to 90 %, to 99 %, and the slowest 1 %; those with less than one request are left out.
  std::vector<LatencyGroup> groups() const;

 private:
  struct Bin {
    std::int64_t count = 0;
    std::array<double, kLatencyParts> part_ns{};
  };
  std::vector<Bin> bins_;
  std::int64_t count_ = 0;
};

}  // namespace headway
