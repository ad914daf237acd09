#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/metrics/observer.h"

namespace headway {

// What the engines did with their time. "Mean" is over time; where steps of one replica overlap
// (pipeline parallelism, async scheduling) each instant counts once, for the step that began first.
struct UtilisationSummary {
  std::int64_t steps = 0;
  std::int64_t replicas = 0;  // that ran at least one step
  double busy_s = 0;          // summed over replicas
  double busy_share = 0;      // of replicas x the time from first arrival to last finish
  double mean_batch = 0;      // sequences a step, while busy
  double mean_step_ms = 0;
  double mean_running = 0, mean_waiting = 0;           // requests, all replicas, over the whole run
  std::int64_t prefill_tokens = 0, decode_tokens = 0;  // computed, recomputation included
  std::int64_t recomputed_tokens = 0;  // of the prefill tokens, lost to preemption before
  std::int64_t preemptions = 0;
  std::int64_t kv_blocks_total = 0;  // of one replica (the largest)
  std::int64_t kv_peak_blocks = 0;   // held at once, in the fullest replica
  double kv_peak_share = 0;
  double kv_mean_share = 0;      // held, while busy
  double kv_internal_waste = 0;  // share of held token slots left empty, while busy; 0 if unknown
  double kv_external_waste = 0;  // free blocks outside the largest free run / free; 0 if paged
  double gpu_s = 0, host_s = 0;  // inside steps
  std::array<double, 7> class_share{};     // of gpu_s, by OpClass
  std::array<double, 4> coverage_share{};  // of gpu_s, by Coverage; all zero when gpu_s is
};

// Memory: a few hundred bytes a replica.
class Utilisation final : public Observer {
 public:
  void on_step(const StepRecord& step) override;
  void on_decode_run(const DecodeRunRecord& run) override;
  // `span` is the time from first arrival to last finish.
  UtilisationSummary result(SimTime span) const;

 private:
  // The time of `s` that no earlier step of its replica has covered.
  std::int64_t cover(const StepRecord& s, SimTime start, SimTime end);

  std::vector<SimTime> busy_until_;  // by replica
  UtilisationSummary sum_;  // counts so far; shares and means are made in result()
  std::int64_t busy_ns_ = 0, duration_ns_ = 0, gpu_ns_ = 0, host_ns_ = 0;
  // Integrals over busy time, in units x ns.
  double batch_ = 0, running_ = 0, waiting_ = 0, kv_held_ = 0, kv_total_ = 0;
  double slots_reserved_ = 0, slots_stored_ = 0, free_blocks_ = 0, scattered_blocks_ = 0;
  std::array<double, 7> class_us_{};
  std::array<double, 4> coverage_us_{};
};

// A count for each second, in pages of 1024 seconds (about 17 minutes), so that neighbouring seconds
// cost no search and empty stretches no memory.
class SecondCounts {
 public:
  SecondCounts() = default;
  SecondCounts(SecondCounts&&) = default;
  SecondCounts& operator=(SecondCounts&&) = default;

  std::int64_t& operator[](std::int64_t second) {
    const std::int64_t page = second >> kPageBits;
    if (page != page_) {
      current_ = &pages_[page];  // map nodes stay where they are
      page_ = page;
    }
    return (*current_)[static_cast<std::size_t>(second & (kPage - 1))];
  }
  // Calls visit(count) for every second of every page, in order of time.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (const auto& [number, page] : pages_) {
      for (const std::int64_t count : page) visit(count);
    }
  }

 private:
  static constexpr int kPageBits = 10;
  static constexpr std::int64_t kPage = std::int64_t{1} << kPageBits;
  using Page = std::array<std::int64_t, static_cast<std::size_t>(kPage)>;

  std::map<std::int64_t, Page> pages_;
  std::int64_t page_ = -1;
  Page* current_ = nullptr;
};

// Peaks over one-second buckets counted from the first arrival, as vLLM's serving benchmark does:
// most output tokens in a bucket, and most requests that touched a bucket (finished ones only).
// Memory: 16 bytes a second of the busy pages (see SecondCounts), 10 MB for a week.
class SecondPeaks final : public Observer {
 public:
  void on_arrival(std::uint64_t request, SimTime now) override;
  void on_tokens(std::int64_t count, SimTime now) override;
  void on_decode_run(const DecodeRunRecord& run) override;
  void on_finish(const RequestRecord& request) override;

  std::int64_t max_output_tokens() const { return max_tokens_; }
  std::int64_t max_concurrent_requests() const;

 private:
  std::int64_t second_of(SimTime t) const;
  void add_tokens(std::int64_t count, std::int64_t second);

  bool started_ = false;
  SimTime origin_;
  SecondCounts tokens_;
  SecondCounts change_;  // of requests in flight
  std::int64_t max_tokens_ = 0;
};

}  // namespace headway
