#pragma once

#include <vector>

#include "sim/metrics/class_metrics.h"
#include "sim/metrics/latency.h"
#include "sim/metrics/observer.h"
#include "sim/metrics/run_summary.h"
#include "sim/metrics/slo_counter.h"
#include "sim/metrics/utilisation.h"
#include "sim/metrics/verdict.h"

namespace headway {

struct MetricsOptions {
  SloLimits slo;
  bool keep_requests =
      false;  // every RequestRecord, in order of finish: sizeof(RequestRecord) = 200 bytes each
  std::vector<SloClass> classes = {};  // requests that have limits of their own
  bool by_tenant = false;              // numbers for each tenant (in the place of classes)
};

// All the numbers of a run in one observer. Memory: that of LatencyMetrics (bounded, some 300 MB at
// most), 16 bytes a simulated second, 4 KiB.
class RunMetrics final : public Observer {
 public:
  explicit RunMetrics(MetricsOptions options = {});

  void on_arrival(std::uint64_t request, SimTime now) override;
  void on_step(const StepRecord& step) override;
  bool lays_out_runs() const override { return true; }  // it sums
  void on_decode_run(const DecodeRunRecord& run) override;
  void on_token_gaps(SimTime gap, std::int64_t count, SimTime now) override;
  void on_tokens(std::int64_t count, SimTime now) override;
  void on_finish(const RequestRecord& request) override;
  void on_end(SimTime now) override;

  RunSummary result() const;
  const LatencyMetrics& latency() const { return latency_; }  // for other percentiles
  // Empty unless keep_requests.
  const std::vector<RequestRecord>& requests() const { return requests_; }

 private:
  bool keep_requests_;
  LatencyMetrics latency_;
  SloCounter slo_;
  ClassMetrics classes_;
  Utilisation utilisation_;
  SecondPeaks peaks_;
  Backlog backlog_;
  SimTime end_;
  std::vector<RequestRecord> requests_;
};

}  // namespace headway
