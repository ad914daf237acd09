#pragma once

// A block of CUDA threads on one CPU thread: the host's side of the emulator (kernels/README.md
// says what it catches). One fiber a thread; blocks run one after another on the calling OS thread,
// and two OS threads may each run their own.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace headway::kernels::emu {

// Which thread runs next. The first three are fair: every ready thread runs up to its next barrier
// in turn. The warp orders let one warp run as far as it can before another moves, which is what
// shows a missing barrier.
enum class Order { kForward, kReverse, kShuffled, kWarpForward, kWarpReverse, kWarpRandom };

struct Mode {
  Order order = Order::kForward;
  // cp.async lands when it is waited for (true) or where it is issued (false).
  bool deferred_copies = true;
  std::uint64_t seed = 1;  // of the shuffled and random orders
};

const char* order_name(Order order);  // "warp-random"
// "warp-random, deferred copies, seed 7"
std::string text_of(const Mode& mode);
// Every order with deferred and with eager copies: 12 modes.
std::vector<Mode> all_modes(std::uint64_t seed = 1);

// The mode of this OS thread's launches.
Mode mode();
void set_mode(const Mode& mode);
class ScopedMode {
 public:
  explicit ScopedMode(const Mode& next) : before_(mode()) { set_mode(next); }
  ~ScopedMode() { set_mode(before_); }
  ScopedMode(const ScopedMode&) = delete;
  ScopedMode& operator=(const ScopedMode&) = delete;

 private:
  Mode before_;
};

// What a kernel may not do: an illegal launch, a misaligned 16-byte access, lanes that wait for
// others which never come. Thrown by launch() to the host; what() says it all in words.
class Fault : public std::runtime_error {
 public:
  struct Where {
    std::uint32_t block[3] = {0, 0, 0};
    int warp = -1;                // -1: not about one warp
    std::uint32_t arrived = 0;    // lanes that came to the collective
    std::uint32_t mask = 0;       // lanes it names
  };
  Fault(const std::string& message, const Where& where)
      : std::runtime_error(message), where_(where) {}
  const Where& where() const { return where_; }

 private:
  Where where_;
};

// Fiber switches made by this OS thread so far: what an emulated kernel costs.
std::uint64_t resumes();

}  // namespace headway::kernels::emu
