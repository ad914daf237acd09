#pragma once

#include "sim/metrics/latency_groups.h"
#include "sim/metrics/run_history.h"

namespace headway {

// What a report shows of a run beside its summary: listens to it, in bounded memory.
class RunRecorder final : public Observer {
 public:
  void on_arrival(std::uint64_t request, SimTime now) override { history_.on_arrival(request, now); }
  void on_step(const StepRecord& step) override { history_.on_step(step); }
  void on_decode_run(const DecodeRunRecord& run) override { history_.on_decode_run(run); }
  void on_tokens(std::int64_t count, SimTime now) override { history_.on_tokens(count, now); }
  void on_finish(const RequestRecord& request) override {
    history_.on_finish(request);
    groups_.on_finish(request);
  }
  void on_end(SimTime now) override { history_.on_end(now); }

  const RunHistory& history() const { return history_; }
  const LatencyGroups& groups() const { return groups_; }

 private:
  RunHistory history_;
  LatencyGroups groups_;
};

}  // namespace headway
