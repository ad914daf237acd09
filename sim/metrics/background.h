#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "sim/core/bounded_queue.h"
#include "sim/metrics/call_log.h"
#include "sim/metrics/decode_run.h"
#include "sim/metrics/observer.h"

namespace headway {

// Passes everything that it hears to another observer, in the same order, on a thread of its own: the
// sums are taken while the simulation goes on. The other one is the thread's until on_end() or the
// end of this object; what it throws, on_end() throws.
class BackgroundObserver final : public Observer {
 public:
  explicit BackgroundObserver(Observer& inner);
  ~BackgroundObserver() override;
  BackgroundObserver(const BackgroundObserver&) = delete;
  BackgroundObserver& operator=(const BackgroundObserver&) = delete;

  bool lays_out_runs() const override { return true; }  // on the thread
  void on_arrival(std::uint64_t request, SimTime now) override;
  void on_step(const StepRecord& step) override;
  void on_decode_run(const DecodeRunRecord& run) override;
  void on_token_gaps(SimTime gap, std::int64_t count, SimTime now) override;
  void on_tokens(std::int64_t count, SimTime now) override;
  void on_preemption(std::uint64_t request, std::uint32_t replica, SimTime now) override;
  void on_finish(const RequestRecord& request) override;
  void on_fleet(const FleetRecord& fleet) override;
  void on_end(SimTime now) override;

 private:
  using ChunkPtr = std::unique_ptr<CallLog>;

  // After each call has been written down.
  void pass_on() {
    if (chunk_->full()) hand_over();
  }
  void keep_prices(const DecodeRunRecord& run);
  void hand_over();
  void stop();
  void listen();

  Observer& inner_;
  // Of all runs: a replica may go, and its prices with it, before the thread has laid out its runs.
  std::vector<std::shared_ptr<const DecodeRunPrices>> prices_;
  std::vector<const DecodeRunPrices*> prices_of_;  // a replica's newest
  ChunkPtr chunk_;
  BoundedQueue<ChunkPtr> full_, spare_;
  std::exception_ptr error_;  // the thread's until it has joined
  std::thread thread_;
};

}  // namespace headway
