#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace headway {

// Calls work(i) for every i < n on up to `threads` threads, each taking the next that is left. The
// calls must not touch what another one writes. When some throw, the others that have begun end, no
// more begin, and the exception of the lowest i is thrown: the same as one after the other would give,
// unless a later one came first.
template <typename Work>
void parallel_for(std::size_t n, int threads, Work work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::vector<std::exception_ptr> errors(n);
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < n && !failed; i = next++) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
        failed = true;
      }
    }
  };
  std::vector<std::thread> others;
  const std::size_t wanted = std::min(n, static_cast<std::size_t>(std::max(threads, 1)));
  for (std::size_t t = 1; t < wanted; ++t) others.emplace_back(take_turns);
  take_turns();
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace headway
