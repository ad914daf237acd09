#pragma once

// The threads of one CUDA block, as fibers, and what they wait for. Inside the emulator only.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "kernels/rt/emulator_core.h"
#include "kernels/rt/fiber.h"

namespace headway::kernels::emu {

// Runs when the last lane of a collective has come: operands[l] is what lane l brought, and stays
// in place until that lane runs again. Lanes outside the mask have nullptr.
using Complete = void (*)(void* const* operands, std::uint32_t mask);

// A stream of random numbers that costs nothing to start (SplitMix64; Steele, Lea, Flood 2014).
struct SplitMix {
  std::uint64_t state = 0;
  std::uint64_t operator()() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

class Block {
 public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  struct Launch {
    dim3 grid;
    dim3 block;
    std::size_t smem_bytes = 0;
    void (*body)(void*) = nullptr;
    void* closure = nullptr;
  };
  void begin(const Launch& launch);
  // All threads of one block, to their end. Throws what a thread threw, or Fault.
  void run(uint3 index);
  void end(bool whole);  // whole = false: a block was left in the middle
  bool busy() const { return launch_.body != nullptr; }

  // --- Called on a fiber ---
  BlockVote sync_block(bool predicate);
  // Waits until every lane of the mask has come with the same call; lanes past the block's last
  // thread do not count. Orders memory only if asked to.
  void collective(std::uint32_t mask, const char* what, Complete complete, void* operand,
                  bool orders_memory = false);
  // The same for what only a whole warp can do.
  void warp_collective(const char* what, Complete complete, void* operand);
  void* dynamic_shared() { return smem_; }
  void* static_shared(const void* tag, std::size_t bytes);
  void add_copy(const Copy& copy);
  void commit_copies();
  bool next_landed_copy(int pending, Copy& copy);
  [[noreturn]] void fail(const std::string& message, const Fault::Where& where = {}) const;
  std::string place_text() const;  // "block (1, 0, 0), thread (3, 0, 0)"

  std::uint64_t resumes = 0;

 private:
  enum class State : std::uint8_t { kReady, kAtBarrier, kAtCollective, kDone };
  struct Group;
  struct Warp;
  struct Thread;

  static void thread_entry();
  void start_threads(uint3 index);
  void allocate_shared();
  void free_shared();
  void* filled(std::size_t bytes);
  void run_fair();
  void run_warps();
  int pick_warp();
  void run_thread(Thread& thread);
  void set_state(Thread& thread, State state);
  void park(State state);
  void exit_thread();
  void release_barrier();
  Group& group_of(Warp& warp, std::uint32_t mask);
  [[noreturn]] void fail_deadlock() const;
  template <class T>
  void shuffle(std::vector<T>& items);

  Mode mode_;
  Launch launch_;
  SplitMix random_;
  int threads_ = 0;
  int warps_ = 0;
  std::vector<Thread> thread_;
  std::vector<Warp> warp_;
  std::vector<std::unique_ptr<Fiber>> fiber_;
  Thread* current_ = nullptr;
  int live_ = 0;
  int ready_ = 0;
  std::size_t blocks_run_ = 0;
  std::exception_ptr error_;

  struct Barrier {
    int arrived = 0;
    int votes = 0;
    unsigned generation = 0;
    BlockVote result[2];  // by parity: a slow thread reads the last one while the next gathers
    char sync[2];
  };
  Barrier barrier_;
  struct Shared {
    const void* tag;
    void* memory;
    std::size_t bytes;
  };
  std::vector<Shared> shared_;
  void* smem_ = nullptr;
  char launch_start_ = 0;  // what the host wrote before, and what it reads after
  char launch_end_ = 0;
};

Block& current_block();

}  // namespace headway::kernels::emu
