#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace headway {

// Hands values from one thread to another, at most `capacity` ahead. Either side may close it: then
// push() gives up and pop() ends once what is there has been taken.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  // False when closed; the value is lost.
  bool push(T value) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return values_.size() < capacity_ || closed_; });
    if (closed_) return false;
    values_.push_back(std::move(value));
    lock.unlock();
    some_.notify_one();
    return true;
  }
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    some_.wait(lock, [&] { return !values_.empty() || closed_; });
    if (values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    lock.unlock();
    room_.notify_one();
    return value;
  }
  std::optional<T> try_pop() {
    const std::lock_guard lock(mutex_);
    if (values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    room_.notify_one();
    return value;
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    some_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable room_, some_;
  std::deque<T> values_;
  std::size_t capacity_;
  bool closed_ = false;
};

}  // namespace headway
