#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "sim/core/bounded_queue.h"
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
  enum class Kind : std::uint8_t { kArrival, kStep, kRun, kGaps, kTokens, kPreemption, kFinish, kFleet };
  struct Fact {  // of the calls with numbers alone
    std::int64_t a = 0, b = 0;
    SimTime now;
  };
  // A few thousand calls; a buffer that is used again.
  struct Chunk {
    std::vector<Kind> kinds;
    std::vector<Fact> facts;
    std::vector<StepRecord> steps;
    std::vector<RequestRecord> finishes;
    std::vector<FleetRecord> fleets;
    std::vector<DecodeRunRecord> runs;  // their views point into `arrays`
    static constexpr std::size_t kAlignment = 8;
    std::unique_ptr<std::byte[]> arrays;
    std::size_t room = 0, used = 0;  // bytes of it
    void make_room(std::size_t bytes);  // REQUIRES: none is used
    template <typename T>
    std::span<const T> keep(std::span<const T> values);
    void clear();
  };
  using ChunkPtr = std::unique_ptr<Chunk>;

  void note(Kind kind);
  void hand_over();
  void stop();
  void listen();
  void tell(Chunk& chunk);

  Observer& inner_;
  ChunkPtr chunk_;
  BoundedQueue<ChunkPtr> full_, spare_;
  std::exception_ptr error_;  // the thread's until it has joined
  std::thread thread_;
};

}  // namespace headway
