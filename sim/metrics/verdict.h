#pragma once

#include <cstdint>
#include <vector>

#include "sim/metrics/observer.h"

namespace headway {

// Does the setup keep up with its arrivals?
//   overloaded  the backlog grows by kOverloadedGrowth of the arrival rate or more: at this rate it
//               is never worked off, and latencies depend on how long the run lasts
//   backlogged  it grows more slowly than that but by at least kBackloggedGrowth, or it does not
//               grow and yet requests queue for more than kQueueingShare of their time
//   stable      neither
enum class Load : std::uint8_t { kStable, kBacklogged, kOverloaded };

inline constexpr double kOverloadedGrowth = 0.05;  // of the arrival rate
inline constexpr double kBackloggedGrowth = 0.01;  // of the arrival rate
inline constexpr double kQueueingShare = 0.5;      // of mean E2EL
// A trend counts only if, over the fitted window, it adds at least this many requests and this many
// times the scatter of the samples about the line (a queue near capacity wanders without a trend).
inline constexpr double kTrendRequests = 5;
inline constexpr double kTrendScatter = 2;

// A preemption storm: at least kStormPreemptions of them, and more than kStormPerRequest a finished
// request, or kStormRecomputed of all computed tokens computed again, or kStormLatency of mean E2EL
// lost to it. Below these, preemption is the ordinary price of a full cache.
inline constexpr std::int64_t kStormPreemptions = 10;
inline constexpr double kStormPerRequest = 0.5;
inline constexpr double kStormRecomputed = 0.10;
inline constexpr double kStormLatency = 0.20;

struct Verdict {
  Load load = Load::kStable;
  bool trend_known = false;   // enough arrivals over enough time to fit a line
  double slope_per_s = 0;     // growth of waiting + running requests, per second
  double growth_share = 0;    // the same over the arrival rate; 0 where there is no clear trend
  double window_s = 0;        // fitted: the arrival window less its beginning
  double queueing_share = 0;  // of mean E2EL
  double mean_in_system = 0;  // waiting + running, over the whole run
  std::int64_t peak_in_system = 0;
  bool preemption_storm = false;
  double preemptions_per_request = 0;
  double recomputed_share = 0;  // of all computed tokens
  double preemption_share = 0;  // of mean E2EL
};

// The number of requests in the system over time, as means over at most kBuckets equal buckets
// (their width doubles as the run grows). Memory: 4 KiB whatever the run.
class Backlog final : public Observer {
 public:
  static constexpr std::size_t kBuckets = 512;

  void on_arrival(std::uint64_t request, SimTime now) override;
  void on_finish(const RequestRecord& request) override;
  void on_end(SimTime now) override;

  struct Trend {
    bool known = false;
    double slope_per_s = 0;
    double window_s = 0;
    double scatter = 0;  // robust standard deviation about the line, requests
  };
  // A line through the samples between `warmup` after the first arrival (at most half the arrival
  // window: a system that starts empty fills for about one mean latency) and the last arrival.
  // Least squares, reweighted by Huber's rule so that a burst does not turn it.
  Trend trend(SimTime warmup) const;
  double arrival_rate() const;  // per second between first and last arrival; 0 when at once
  double mean_in_system() const;
  std::int64_t peak() const { return peak_; }

 private:
  void advance(SimTime now);

  std::vector<double> buckets_ = std::vector<double>(kBuckets);  // request-ns
  std::int64_t width_ns_ = 1'000'000;
  std::int64_t arrived_ = 0, in_system_ = 0, peak_ = 0;
  double integral_ = 0;  // request-ns
  SimTime first_arrival_, last_arrival_, last_;
};

// What the verdict weighs besides the backlog.
struct VerdictFacts {
  std::int64_t completed = 0;
  double mean_e2el_ms = 0, mean_queue_ms = 0, mean_preemption_ms = 0;
  std::int64_t preemptions = 0, recomputed_tokens = 0, computed_tokens = 0;
};
Verdict judge(const Backlog& backlog, const VerdictFacts& facts);

}  // namespace headway
