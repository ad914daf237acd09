#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/stream_copy.h"
#include "sim/metrics/decode_run.h"
#include "sim/metrics/observer.h"

namespace headway {

// Calls of an observer, written down one after another by one thread, to be made by another. A buffer
// that is used again. REQUIRES: close() before another thread looks.
class CallLog {
 public:
  void arrival(std::uint64_t request, SimTime now);
  void step(const StepRecord& step);
  void run(const DecodeRunFacts& run);  // its prices must outlive the log
  void gaps(SimTime gap, std::int64_t count, SimTime now);
  void tokens(std::int64_t count, SimTime now);
  void preemption(std::uint64_t request, std::uint32_t replica, SimTime now);
  void finish(const RequestRecord& request);
  void fleet(const FleetRecord& fleet);

  // Seldom: to wake the other thread takes 15 microseconds.
  static constexpr std::size_t kFullBytes = std::size_t{1} << 22;
  bool full() const { return used_ >= kFullBytes; }
  void close() { end_stream(); }
  void clear() { used_ = 0; }
  // Makes the calls, in order. `buffers`: where runs are laid out.
  void tell(Observer& observer, DecodeRunBuffers& buffers) const;

 private:
  enum Kind : std::uint32_t { kArrival, kStep, kRun, kGaps, kTokens, kPreemption, kFinish, kFleet };
  // An entry: this, then what the kind has, then its arrays; each begins with a block. Most calls have
  // numbers alone and are this alone.
  struct Head {
    std::uint64_t what;  // from its lowest bits on: the kind in 4, the count in 28, the number in 32
    std::int64_t now_ns;

    std::uint32_t kind() const { return static_cast<std::uint32_t>(what & 15); }
    std::uint32_t count() const { return static_cast<std::uint32_t>(what) >> 4; }  // kWide: see Wide
    std::uint32_t number() const { return static_cast<std::uint32_t>(what >> 32); }
  };
  static constexpr std::uint32_t kWide = (1U << 28) - 1;
  struct Wide {  // where one of the numbers is too large
    std::int64_t count, number;
  };
  struct Block {
    alignas(64) std::byte bytes[64];
  };
  class Reader;
  static void tell_numbers(std::uint32_t kind, std::int64_t count, std::int64_t number, SimTime now,
                           Observer& observer);

  void put_numbers(Kind kind, std::int64_t count, std::int64_t number, SimTime now);
  void put_head(Kind kind, std::size_t count = 0, std::size_t number = 0);
  void put_words(Kind kind, std::uint64_t count, std::uint64_t number, SimTime now);
  template <typename T>
  void put(const T& value);
  template <typename T>
  void put_all(std::span<const T> values);
  // For so many bytes more.
  void make_room(std::size_t bytes) {
    if (used_ + bytes > bytes_) grow(used_ + bytes);
  }
  void grow(std::size_t bytes);

  std::vector<Block> room_;
  std::byte* begin_ = nullptr;  // of the room
  std::size_t bytes_ = 0, used_ = 0;
};

}  // namespace headway
