#include "kernels/rt/emulator.h"

#include <cstdio>
#include <numeric>
#include <utility>

#include "kernels/rt/emulator_block.h"

namespace headway::kernels::emu {

constinit thread_local const Place* current_place = nullptr;

namespace {

thread_local Mode current_mode;

[[noreturn]] void refuse(const std::string& message) { throw Fault("launch: " + message, {}); }

void check_launch(const dim3& grid, const dim3& block, std::size_t smem_bytes) {
  const auto text = [](const dim3& v) {
    return std::to_string(v.x) + " x " + std::to_string(v.y) + " x " + std::to_string(v.z);
  };
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > 1024 || block.z > 64) {
    refuse("a block of " + text(block) + " threads; 1 to 1024 are allowed, at most 64 along z");
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 ||
      grid.z > 65535) {
    refuse("a grid of " + text(grid) + " blocks; each at least 1, y and z at most 65535");
  }
  if (smem_bytes > 227 * 1024) {
    refuse(std::to_string(smem_bytes) + " bytes of dynamic shared memory; at most 227 KiB");
  }
}

// The blocks of a grid run one after another, in the direction that threads do.
void run_blocks(Block& block, const dim3& grid) {
  const Mode now = mode();
  const std::uint64_t count = std::uint64_t{grid.x} * grid.y * grid.z;
  // The k-th block is (start + k * step) mod count: every block once, for a step prime to count.
  std::uint64_t start = 0;
  std::uint64_t step = 1;
  if (now.order == Order::kReverse || now.order == Order::kWarpReverse) {
    start = count - 1;
    step = count - 1;
  } else if (now.order == Order::kShuffled || now.order == Order::kWarpRandom) {
    SplitMix random{now.seed};
    start = random() % count;
    step = random() % count;
    while (std::gcd(step, count) != 1) step = (step + 1) % count;
  }
  std::uint64_t at = start;
  for (std::uint64_t k = 0; k < count; ++k, at = (at + step) % count) {
    block.run({static_cast<unsigned>(at % grid.x), static_cast<unsigned>(at / grid.x % grid.y),
               static_cast<unsigned>(at / grid.x / grid.y)});
  }
}

}  // namespace

const char* order_name(Order order) {
  switch (order) {
    case Order::kForward: return "forward";
    case Order::kReverse: return "reverse";
    case Order::kShuffled: return "shuffled";
    case Order::kWarpForward: return "warp-forward";
    case Order::kWarpReverse: return "warp-reverse";
    case Order::kWarpRandom: return "warp-random";
  }
  return "?";
}

std::string text_of(const Mode& mode) {
  return std::string(order_name(mode.order)) +
         (mode.deferred_copies ? ", deferred copies, seed " : ", eager copies, seed ") +
         std::to_string(mode.seed);
}

std::vector<Mode> all_modes(std::uint64_t seed) {
  std::vector<Mode> modes;
  for (const Order order : {Order::kForward, Order::kReverse, Order::kShuffled,
                            Order::kWarpForward, Order::kWarpReverse, Order::kWarpRandom}) {
    modes.push_back({order, true, seed});
    modes.push_back({order, false, seed});
  }
  return modes;
}

Mode mode() { return current_mode; }
void set_mode(const Mode& mode) { current_mode = mode; }
std::uint64_t resumes() { return current_block().resumes; }

Block& current_block() {
  static thread_local Block block;
  return block;
}

void run(dim3 grid, dim3 block, std::size_t smem_bytes, void (*body)(void*), void* closure) {
  check_launch(grid, block, smem_bytes);
  Block& engine = current_block();
  if (engine.busy()) throw std::logic_error("emulator: a launch from inside a kernel");
  engine.begin({grid, block, smem_bytes, body, closure});
  try {
    run_blocks(engine, grid);
  } catch (...) {
    engine.end(false);
    throw;
  }
  engine.end(true);
}

// --- What a running thread calls ---------------------------------------------------------------

void* dynamic_shared() { return current_block().dynamic_shared(); }
void* static_shared(const void* tag, std::size_t bytes) {
  return current_block().static_shared(tag, bytes);
}
BlockVote sync_block(bool predicate) { return current_block().sync_block(predicate); }
void sync_warp(std::uint32_t mask) {
  current_block().collective(mask, "__syncwarp", nullptr, nullptr, true);
}

namespace {

struct ShuffleLane {
  std::uint64_t value;
  int source;
  std::uint64_t result;
  bool ok;
};
void complete_shuffle(void* const* operands, std::uint32_t mask) {
  for (int lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1)) continue;
    auto* to = static_cast<ShuffleLane*>(operands[lane]);
    to->ok = mask >> to->source & 1;
    if (to->ok) to->result = static_cast<ShuffleLane*>(operands[to->source])->value;
  }
}

struct BallotLane {
  bool predicate;
  std::uint32_t result;
};
void complete_ballot(void* const* operands, std::uint32_t mask) {
  std::uint32_t result = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1)) continue;
    if (static_cast<BallotLane*>(operands[lane])->predicate) result |= 1u << lane;
  }
  for (int lane = 0; lane < 32; ++lane) {
    if (mask >> lane & 1) static_cast<BallotLane*>(operands[lane])->result = result;
  }
}

}  // namespace

std::uint64_t shuffle_bits(std::uint32_t mask, std::uint64_t value, int source) {
  ShuffleLane lane{value, source & 31, 0, false};
  Block& block = current_block();
  block.collective(mask, "shuffle", &complete_shuffle, &lane);
  if (!lane.ok) {
    block.fail(
        "a shuffle reads lane " + std::to_string(lane.source) + ", which its mask leaves out",
        {{}, current().warp, mask, mask});
  }
  return lane.result;
}

std::uint32_t ballot(std::uint32_t mask, bool predicate) {
  BallotLane lane{predicate, 0};
  current_block().collective(mask, "vote", &complete_ballot, &lane);
  return lane.result;
}

bool defer(const Copy& copy) {
  if (!mode().deferred_copies) return false;
  current_block().add_copy(copy);
  return true;
}
void commit_copies() { current_block().commit_copies(); }
bool next_landed_copy(int pending, Copy& copy) {
  return current_block().next_landed_copy(pending, copy);
}

void misaligned(const void* address, const char* access) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%p", address);
  current_block().fail(std::string(access) + " of 16 bytes at " + buffer +
                       ", which is no multiple of 16");
}

}  // namespace headway::kernels::emu
