#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "sim/metrics/observer.h"

namespace headway {

// What the waiting lines of a run were held back by: time by cause (kNobody: a step was under way).
using HeldBackTimes = std::array<SimTime, kHeldBackCauses>;

// Mean times in milliseconds of a group of requests.
struct CauseMeans {
  std::int64_t requests = 0;
  double ttft_ms = 0;
  std::array<double, kLatencyParts> parts_ms{};    // of the TTFT; they sum to it
  std::array<double, kHeldBackCauses> queue_ms{};  // of its queueing, by cause; sum to that part
};

// One minute of simulated time, counted from 0.
struct MinuteLoad {
  std::int64_t minute = 0;
  std::int64_t arrivals = 0, preemptions = 0;
  std::int64_t prefill_tokens = 0, decode_tokens = 0;
  double mean_running = 0, mean_waiting = 0;  // requests of all replicas
  double kv_peak_share = 0;
};

struct RunCausesResult {
  CauseMeans tail;  // the requests with the longest TTFTs, 1 in 100 (at least one)
  CauseMeans all;
  double tail_from_ms = 0;        // the least TTFT of the tail
  bool whole_tail = true;         // false: it is more than are kept; these are the slowest of it
  MinuteLoad busiest;             // most requests in the system
  std::vector<RequestRecord> slowest;  // by E2EL, the slowest first
  // GPU time of steps with enough tokens for their products to be bound by arithmetic (decode attention
  // left out), and the rest, which waits for memory.
  // Of steps without prompts, and of steps with them.
  std::array<double, 2> compute_s{}, bandwidth_s{};
  bool derived = false;           // some causes are (PlanFacts::derived)
};

// Where the times of a run came from. Memory: 100 bytes a request in the system, 24 MB at most for the
// tail, 80 bytes a simulated minute.
class RunCauses final : public Observer {
 public:
  static constexpr std::size_t kSlowest = 5;
  static constexpr std::size_t kTail = 100'000;

  // A step's products are bound by arithmetic from `ridge_tokens` tokens on.
  explicit RunCauses(double ridge_tokens, std::size_t most_in_tail = kTail)
      : ridge_tokens_(ridge_tokens), most_in_tail_(most_in_tail) {}

  bool hears_facts() const override { return true; }
  void on_arrival(std::uint64_t request, SimTime now) override;
  void on_queued(std::uint64_t request, std::uint32_t replica, SimTime now,
                 SimTime at_gateway, SimTime lost) override;
  void on_plan(const PlanFacts& plan) override;
  void on_step(const StepRecord& step) override;
  void on_decode_run(const DecodeRunRecord& run) override;
  void on_preemption(std::uint64_t request, std::uint32_t replica, SimTime now) override;
  void on_first_token(std::uint64_t request, SimTime now, const LatencySplit& split) override;
  void on_finish(const RequestRecord& request) override;

  RunCausesResult result() const;

 private:
  struct Line {  // the waiting line of a replica: time told by cause, up to `at`
    HeldBackTimes told{};
    SimTime at;
    HeldBack cause = HeldBack::kNobody;
  };
  struct InSystem {
    bool admitted = false, has_token = false;
    HeldBackTimes queue{};  // told when it joined the line; once admitted, its own
    LatencySplit parts{};   // of its TTFT
  };
  struct Slow {
    SimTime ttft;
    LatencySplit parts{};
    HeldBackTimes queue{};
  };
  struct Minute {
    std::int64_t arrivals = 0, preemptions = 0, prefill_tokens = 0, decode_tokens = 0;
    double running_ns = 0, waiting_ns = 0, kv_peak_share = 0;
  };
  static CauseMeans means(const std::vector<Slow>& requests, std::size_t count);
  static void advance(Line& line, SimTime now);
  Line& line(std::uint32_t replica);
  Minute& minute(SimTime now);
  void note_steps(const StepRecord& step, SimTime duration, std::int64_t steps, double gpu_us,
                  double decode_attention_us);
  void note_slow(const RequestRecord& request);
  void note_tail(const Slow& request);

  double ridge_tokens_;
  std::size_t most_in_tail_;
  std::vector<Line> lines_;  // by replica
  std::unordered_map<std::uint64_t, InSystem> in_system_;
  std::vector<Slow> tail_;   // a heap, the fastest on top
  std::map<std::int64_t, Minute> minutes_;
  std::int64_t minute_ = -1;
  Minute* current_ = nullptr;
  std::vector<RequestRecord> slowest_;
  std::int64_t finished_ = 0;
  std::array<double, kLatencyParts> parts_ns_{};
  std::array<double, kHeldBackCauses> queue_ns_{};
  double ttft_ns_ = 0;
  std::array<double, 2> compute_us_{}, bandwidth_us_{};
  bool derived_ = false;
};

}  // namespace headway
