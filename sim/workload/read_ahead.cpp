#include "sim/workload/read_ahead.h"

#include <cstddef>
#include <exception>
#include <thread>
#include <utility>

#include "sim/core/bounded_queue.h"
#include "sim/core/fetch_ahead.h"

namespace headway {
namespace {

constexpr std::size_t kRequestsAChunk = 4096;
constexpr std::size_t kChunksAhead = 8;

class ReadAhead final : public RequestSource {
 public:
  explicit ReadAhead(std::unique_ptr<RequestSource> source)
      : size_(source->size_hint()), chunks_(kChunksAhead), source_(std::move(source)),
        thread_([this] { read(); }) {}

  ~ReadAhead() override {
    chunks_.close();
    thread_.join();
  }

  std::optional<Request> next() override {
    if (at_ == chunk_.requests.size()) {
      if (chunk_.last) {
        if (chunk_.error) std::rethrow_exception(std::exchange(chunk_.error, nullptr));
        return std::nullopt;
      }
      chunk_ = std::move(*chunks_.pop());
      at_ = 0;
      return next();
    }
    Request& request = chunk_.requests[at_++];
    // The other core wrote them: under way while the simulation is busy with this one.
    if (at_ < chunk_.requests.size()) fetch_ahead(chunk_.requests[at_]);
    return std::move(request);
  }
  std::int64_t size_hint() const override { return size_; }

 private:
  struct Chunk {
    std::vector<Request> requests;
    std::exception_ptr error;  // met after them
    bool last = false;
  };

  void read() {
    for (bool more = true; more;) {
      Chunk chunk = read_chunk();
      more = !chunk.last;
      if (!chunks_.push(std::move(chunk))) return;
    }
  }

  Chunk read_chunk() {
    Chunk chunk;
    chunk.requests.reserve(kRequestsAChunk);
    try {
      while (chunk.requests.size() < kRequestsAChunk) {
        std::optional<Request> request = source_->next();
        if (!request) {
          chunk.last = true;
          break;
        }
        chunk.requests.push_back(std::move(*request));
      }
    } catch (...) {
      chunk.error = std::current_exception();
      chunk.last = true;
    }
    return chunk;
  }

  std::int64_t size_;
  BoundedQueue<Chunk> chunks_;
  std::unique_ptr<RequestSource> source_;  // the thread's
  Chunk chunk_;
  std::size_t at_ = 0;
  std::thread thread_;  // last: everything else is there when it starts
};

}  // namespace

std::unique_ptr<RequestSource> read_ahead(std::unique_ptr<RequestSource> source) {
  return std::make_unique<ReadAhead>(std::move(source));
}

}  // namespace headway
