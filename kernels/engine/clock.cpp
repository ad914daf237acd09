#include "kernels/engine/clock.h"

#include <ctime>

namespace headway::kernels {
namespace {

constexpr std::int64_t kAwakeNs = 300'000;  // before the instant

std::int64_t read_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

void WallClock::start() { origin_ns_ = read_ns(CLOCK_MONOTONIC); }
SimTime WallClock::now() { return SimTime::from_ns(read_ns(CLOCK_MONOTONIC) - origin_ns_); }
SimTime WallClock::cpu_time() { return SimTime::from_ns(read_ns(CLOCK_THREAD_CPUTIME_ID)); }

void WallClock::wait_until(SimTime instant) {
  const std::int64_t left = (instant - now()).ns();
  if (left > kAwakeNs) {
    const std::int64_t asleep = left - kAwakeNs;
    const timespec t{asleep / 1'000'000'000, asleep % 1'000'000'000};
    nanosleep(&t, nullptr);
  }
  while (now() < instant) {
  }
}

}  // namespace headway::kernels
