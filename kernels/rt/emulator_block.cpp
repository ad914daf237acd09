#include "kernels/rt/emulator_block.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/rt/sanitizers.h"

namespace headway::kernels::emu {
namespace {

constexpr std::size_t kMaxSmemBytes = 227 * 1024;  // sm_90; sm_80 has 163 KiB

std::string text(uint3 v) {
  return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
}

std::string hex(std::uint32_t mask) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "%08x", mask);
  return buffer;
}

}  // namespace

// Lanes of a warp that meet under one mask.
struct Block::Group {
  std::uint32_t mask = 0;
  std::uint32_t arrived = 0;
  unsigned generation = 0;
  const char* what = nullptr;
  Complete complete = nullptr;
  void* operands[32] = {};
  char sync[2];
};

struct Block::Warp {
  int ready = 0;
  std::vector<std::unique_ptr<Group>> groups;
};

struct Block::Thread {
  Place place{};
  State state = State::kDone;
  Fiber* fiber = nullptr;
  struct Pending {
    Copy copy;
    int group;
  };
  std::vector<Pending> copies;
  std::size_t landed = 0;  // of copies
  int committed = 0;       // groups
};

Block::Block() = default;
Block::~Block() { free_shared(); }

// --- Setting up --------------------------------------------------------------------------------

void Block::begin(const Launch& launch) {
  mode_ = mode();
  launch_ = launch;
  threads_ = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
  warps_ = (threads_ + 31) / 32;
  thread_.resize(std::max<std::size_t>(thread_.size(), threads_));
  warp_.resize(std::max<std::size_t>(warp_.size(), warps_));
  // One more than threads: see start_threads.
  while (fiber_.size() < static_cast<std::size_t>(threads_) + 1) {
    fiber_.push_back(std::make_unique<Fiber>());
  }
  tsan_release(&launch_start_);
}

void Block::end(bool whole) {
  tsan_acquire(&launch_end_);
  free_shared();
  if (!whole) {  // threads were left in the middle: start from scratch
    fiber_.clear();
    thread_.clear();
    warp_.clear();
    error_ = nullptr;
  }
  barrier_ = {};
  current_ = nullptr;
  current_place = nullptr;
  launch_ = {};
}

void* Block::filled(std::size_t bytes) {
  void* memory = nullptr;
  tsan_ignore_begin();
  const bool ok = posix_memalign(&memory, 128, bytes) == 0;
  if (ok) std::memset(memory, 0xff, bytes);  // NaN in every floating-point format
  tsan_ignore_end();
  if (!ok) throw std::bad_alloc();
  return memory;
}

void Block::allocate_shared() {
  if (launch_.smem_bytes > 0) smem_ = filled(launch_.smem_bytes);
}

void Block::free_shared() {
  tsan_ignore_begin();
  std::free(smem_);
  for (const Shared& shared : shared_) std::free(shared.memory);
  tsan_ignore_end();
  smem_ = nullptr;
  shared_.clear();
}

void* Block::static_shared(const void* tag, std::size_t bytes) {
  std::size_t total = launch_.smem_bytes + bytes;
  for (const Shared& shared : shared_) {
    if (shared.tag == tag) return shared.memory;
    total += shared.bytes;
  }
  if (total > kMaxSmemBytes) fail("more than 227 KiB of shared memory in all");
  shared_.push_back({tag, filled(bytes), bytes});
  return shared_.back().memory;
}

void Block::start_threads(uint3 index) {
  // Thread t of one block and of the next are different TSan fibers, or their races would hide.
  const std::size_t turn = kTsan ? blocks_run_ : 0;
  const dim3& dim = launch_.block;
  for (int i = 0; i < warps_; ++i) warp_[i].ready = std::min(32, threads_ - 32 * i);
  for (int i = 0; i < threads_; ++i) {
    Thread& thread = thread_[i];
    const unsigned u = static_cast<unsigned>(i);
    thread.place = {{u % dim.x, u / dim.x % dim.y, u / dim.x / dim.y}, index, dim, launch_.grid,
                    i % 32, i / 32};
    thread.state = State::kReady;
    thread.fiber = fiber_[(i + turn) % fiber_.size()].get();
    thread.fiber->prepare(&Block::thread_entry);
    thread.copies.clear();
    thread.landed = 0;
    thread.committed = 0;
  }
  ready_ = live_ = threads_;
  ++blocks_run_;
}

// --- Running -----------------------------------------------------------------------------------

void Block::run(uint3 index) {
  const std::uint64_t place =
      index.x + std::uint64_t{launch_.grid.x} * (index.y + std::uint64_t{launch_.grid.y} * index.z);
  random_ = SplitMix{mode_.seed * 0x9e3779b97f4a7c15u + place};
  allocate_shared();
  start_threads(index);
  const bool fair = mode_.order == Order::kForward || mode_.order == Order::kReverse ||
                    mode_.order == Order::kShuffled;
  if (fair) {
    run_fair();
  } else {
    run_warps();
  }
  free_shared();
}

template <class T>
void Block::shuffle(std::vector<T>& items) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random_() % i]);
}

void Block::run_fair() {
  std::vector<int> order(threads_);
  for (int i = 0; i < threads_; ++i) {
    order[i] = mode_.order == Order::kReverse ? threads_ - 1 - i : i;
  }
  while (live_ > 0) {
    if (ready_ == 0) fail_deadlock();
    if (mode_.order == Order::kShuffled) shuffle(order);
    for (const int i : order) {
      if (thread_[i].state == State::kReady) run_thread(thread_[i]);
    }
  }
}

int Block::pick_warp() {
  if (mode_.order == Order::kWarpRandom) {
    int wanted = 0;
    for (int i = 0; i < warps_; ++i) wanted += warp_[i].ready > 0;
    wanted = static_cast<int>(random_() % static_cast<unsigned>(wanted));
    for (int i = 0; i < warps_; ++i) {
      if (warp_[i].ready > 0 && wanted-- == 0) return i;
    }
  }
  for (int i = 0; i < warps_; ++i) {
    const int index = mode_.order == Order::kWarpReverse ? warps_ - 1 - i : i;
    if (warp_[index].ready > 0) return index;
  }
  return 0;
}

void Block::run_warps() {
  while (live_ > 0) {
    if (ready_ == 0) fail_deadlock();
    const int warp = pick_warp();
    const int first = 32 * warp;
    const int lanes = std::min(32, threads_ - first);
    std::vector<int> order(lanes);
    for (int i = 0; i < lanes; ++i) {
      order[i] = first + (mode_.order == Order::kWarpReverse ? lanes - 1 - i : i);
    }
    while (warp_[warp].ready > 0) {
      if (mode_.order == Order::kWarpRandom) shuffle(order);
      for (const int i : order) {
        if (thread_[i].state == State::kReady) run_thread(thread_[i]);
      }
    }
  }
}

void Block::run_thread(Thread& thread) {
  current_ = &thread;
  current_place = &thread.place;
  ++resumes;
  thread.fiber->resume();
  if (error_) std::rethrow_exception(error_);
}

void Block::thread_entry() {
  Block& block = current_block();
  tsan_acquire(&block.launch_start_);
  try {
    block.launch_.body(block.launch_.closure);
  } catch (...) {
    block.error_ = std::current_exception();
  }
  tsan_release(&block.launch_end_);
  block.exit_thread();
  block.current_->fiber->finish();
}

void Block::set_state(Thread& thread, State state) {
  const int change = (state == State::kReady) - (thread.state == State::kReady);
  thread.state = state;
  ready_ += change;
  warp_[thread.place.warp].ready += change;
}

void Block::park(State state) {
  Thread& self = *current_;
  set_state(self, state);
  self.fiber->park();
}

void Block::exit_thread() {
  set_state(*current_, State::kDone);
  --live_;
  if (barrier_.arrived > 0 && barrier_.arrived == live_) release_barrier();
}

// --- Waiting -----------------------------------------------------------------------------------

void Block::release_barrier() {
  Barrier& b = barrier_;
  b.result[b.generation & 1] = {b.votes, b.arrived};
  b.arrived = 0;
  b.votes = 0;
  ++b.generation;
  for (int i = 0; i < threads_; ++i) {
    if (thread_[i].state == State::kAtBarrier) set_state(thread_[i], State::kReady);
  }
}

BlockVote Block::sync_block(bool predicate) {
  Barrier& b = barrier_;
  const unsigned parity = b.generation & 1;
  tsan_release(&b.sync[parity]);
  b.votes += predicate;
  if (++b.arrived == live_) {
    release_barrier();
  } else {
    park(State::kAtBarrier);
  }
  tsan_acquire(&b.sync[parity]);
  return b.result[parity];
}

Block::Group& Block::group_of(Warp& warp, std::uint32_t mask) {
  for (const auto& group : warp.groups) {
    if (group->mask == mask) return *group;
  }
  warp.groups.push_back(std::make_unique<Group>());
  warp.groups.back()->mask = mask;
  return *warp.groups.back();
}

void Block::collective(std::uint32_t mask, const char* what, Complete complete, void* operand,
                       bool orders_memory) {
  Thread& self = *current_;
  const int lane = self.place.lane;
  const int lanes = threads_ - 32 * self.place.warp;
  if (lanes < 32) mask &= (1u << lanes) - 1;
  Group& group = group_of(warp_[self.place.warp], mask);
  const Fault::Where where{{}, self.place.warp, group.arrived, mask};
  if (!(mask >> lane & 1))
    fail(std::string(what) + ": its mask leaves out the calling lane", where);
  if (group.arrived != 0 && group.complete != complete) {  // each collective has its own
    fail("lanes of one warp came to different collectives: " + std::string(what) + " while lanes " +
             hex(group.arrived) + " wait in " + group.what, where);
  }
  group.what = what;
  group.complete = complete;
  group.operands[lane] = operand;
  group.arrived |= 1u << lane;
  const unsigned parity = group.generation & 1;
  if (orders_memory) tsan_release(&group.sync[parity]);
  if (group.arrived != mask) {
    park(State::kAtCollective);
  } else {
    if (complete != nullptr) complete(group.operands, mask);
    group.arrived = 0;
    ++group.generation;
    for (std::uint32_t rest = mask & ~(1u << lane); rest != 0; rest &= rest - 1) {
      set_state(thread_[32 * self.place.warp + std::countr_zero(rest)], State::kReady);
    }
  }
  if (orders_memory) tsan_acquire(&group.sync[parity]);
}

void Block::warp_collective(const char* what, Complete complete, void* operand) {
  const int warp = current_->place.warp;
  if (threads_ - 32 * warp < 32) {
    fail(std::string(what) + " needs all 32 lanes of a warp; this one has " +
             std::to_string(threads_ - 32 * warp), {{}, warp, 0, 0xffffffffu});
  }
  collective(0xffffffffu, what, complete, operand);
}

// --- Asynchronous copies -----------------------------------------------------------------------

void Block::add_copy(const Copy& copy) { current_->copies.push_back({copy, current_->committed}); }

void Block::commit_copies() { ++current_->committed; }

bool Block::next_landed_copy(int pending, Copy& copy) {
  Thread& self = *current_;
  if (self.landed == self.copies.size()) {
    self.copies.clear();
    self.landed = 0;
    return false;
  }
  const Thread::Pending& next = self.copies[self.landed];
  if (next.group >= self.committed - pending) return false;
  copy = next.copy;
  ++self.landed;
  return true;
}

// --- Faults ------------------------------------------------------------------------------------

std::string Block::place_text() const {
  const Place& place = current_->place;
  return "block " + text(place.block) + ", thread " + text(place.thread);
}

void Block::fail(const std::string& message, const Fault::Where& where) const {
  Fault::Where full = where;
  const Place& place = current_->place;
  full.block[0] = place.block.x;
  full.block[1] = place.block.y;
  full.block[2] = place.block.z;
  throw Fault(place_text() + ": " + message + " [" + text_of(mode_) + "]", full);
}

void Block::fail_deadlock() const {
  const Place& place = thread_[0].place;
  for (int w = 0; w < warps_; ++w) {
    for (const auto& group : warp_[w].groups) {
      if (group->arrived == 0) continue;
      const Fault::Where where{{place.block.x, place.block.y, place.block.z}, w, group->arrived,
                               group->mask};
      throw Fault("block " + text(place.block) + ", warp " + std::to_string(w) + ": " +
                      group->what + " was reached by " +
                      std::to_string(std::popcount(group->arrived)) + " lanes (" +
                      hex(group->arrived) + ") of the " +
                      std::to_string(std::popcount(group->mask)) + " that its mask " +
                      hex(group->mask) + " names; the others have exited or wait elsewhere [" +
                      text_of(mode_) + "]",
                  where);
    }
  }
  throw std::logic_error("emulator: nothing can run, and no collective is incomplete");
}

}  // namespace headway::kernels::emu
