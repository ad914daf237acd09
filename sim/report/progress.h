#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>

#include "sim/metrics/observer.h"

namespace headway {

// One line on a terminal, redrawn ten times a second at most and wiped at the end: requests done,
// simulated time, and how much faster than real time. Silent when not enabled; the caller enables
// it for is_terminal(stderr) without --quiet.
class ProgressLine final : public Observer {
 public:
  // `total` requests, -1 = not known.
  ProgressLine(std::FILE* stream, bool enabled, std::int64_t total);
  ~ProgressLine() override;
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool hears_steps() const override { return enabled_; }
  bool lays_out_runs() const override { return true; }  // it only looks when they end
  void on_step(const StepRecord& step) override;
  void on_decode_run(const DecodeRunRecord& run) override;
  void on_finish(const RequestRecord& request) override;
  void on_end(SimTime now) override;

 private:
  void look(SimTime now);
  void draw(double wall_s);
  void wipe();

  std::FILE* stream_;
  bool enabled_, drawn_ = false;
  std::int64_t total_, done_ = 0;
  std::uint32_t calls_ = 0;
  SimTime now_;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace headway
