#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/metrics/observer.h"

namespace headway {

// What happened in one column of simulated time. Integrals are over the column, in units x ns.
struct HistoryColumn {
  double in_system_ns = 0;  // requests waiting or running
  std::int64_t in_system_min = -1, in_system_max = -1;  // -1: no time of it has passed
  double running_ns = 0, waiting_ns = 0;  // as the engines' steps tell, summed over replicas
  double busy_ns = 0;                     // replicas' time inside steps
  double kv_share_ns = 0;                 // share of KV blocks held, while busy
  double kv_peak = 0;                     // share, of the fullest replica
  double output_tokens = 0, prefill_tokens = 0;
  std::int64_t arrivals = 0, finishes = 0, preemptions = 0;

  void add(const HistoryColumn& other);
};

// A run over time, in at most kColumns equal columns whose width doubles whenever the run outgrows
// them: 160 KB whatever the run, and a few operations a run of decode steps. Within such a run tokens
// and KV blocks are taken to come evenly. Where steps of one replica overlap, each instant counts once.
class RunHistory final : public Observer {
 public:
  static constexpr std::size_t kColumns = 1536;
  static constexpr std::int64_t kFirstWidthNs = 100'000;

  void on_arrival(std::uint64_t request, SimTime now) override;
  void on_step(const StepRecord& step) override;
  void on_decode_run(const DecodeRunRecord& run) override;
  void on_tokens(std::int64_t count, SimTime now) override;
  void on_finish(const RequestRecord& request) override;
  void on_end(SimTime now) override;

  std::int64_t width_ns() const { return width_ns_; }
  std::int64_t end_ns() const { return end_ns_; }  // the last thing heard; the last column ends there
  // From time 0 to end_ns(), in columns of `width_ns`: width_ns() times a power of two.
  std::vector<HistoryColumn> columns(std::int64_t width_ns) const;
  std::int64_t replicas() const { return static_cast<std::int64_t>(busy_until_.size()); }

 private:
  struct State {  // of a replica in a stretch of time; its KV changes evenly
    std::int64_t running, waiting;
    double kv_share_first, kv_share_last;
  };
  HistoryColumn& column_at(std::int64_t ns);
  void advance(SimTime now);
  void note_in_system(std::int64_t ns);
  void busy(std::uint32_t replica, SimTime start, SimTime end, const State& state);
  // Calls visit(column, from_ns, to_ns) for each column that a part of the time lies in.
  template <typename Visit>
  void each(std::int64_t from_ns, std::int64_t to_ns, const Visit& visit);

  std::vector<HistoryColumn> columns_ = std::vector<HistoryColumn>(kColumns);
  std::int64_t width_ns_ = kFirstWidthNs;
  std::int64_t in_system_ = 0, last_ns_ = 0, end_ns_ = 0;  // counted so far; heard so far
  std::vector<SimTime> busy_until_;  // by replica
};

}  // namespace headway
