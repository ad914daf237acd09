#include "sim/study/sweep_mpi.h"

#include "sim/core/errors.h"

#ifdef HEADWAY_WITH_MPI

#include <boost/mpi/communicator.hpp>
#include <boost/mpi/collectives/broadcast.hpp>
#include <boost/mpi/environment.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace headway {
namespace {

namespace mpi = boost::mpi;

constexpr int kAsk = 1;   // a rank to rank 0: what became of its last point, or one of these
constexpr int kTake = 2;  // rank 0 to a rank: a point's number, or kNoMore
constexpr std::int64_t kFirst = -1, kStopped = -2, kNoMore = -1;
constexpr auto kNap = std::chrono::milliseconds(1);  // MPI itself would wait at full speed

// The points that are left, and the word that comes back; for the threads of rank 0.
class Dealer {
 public:
  Dealer(const MpiJob& job, std::vector<std::int64_t> points)
      : job_(job), points_(points.begin(), points.end()) {}

  std::int64_t next() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (points_.empty()) return kNoMore;
    const std::int64_t index = points_.front();
    points_.pop_front();
    return index;
  }

  void report(PointStatus status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    job_.done(status);
  }

  // Works along until nothing is left. An error ends the whole job: no more points are dealt.
  void work() {
    try {
      for (std::int64_t index = next(); index != kNoMore; index = next()) report(job_.run(index));
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::current_exception();
      points_.clear();
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const MpiJob& job_;
  std::mutex mutex_;
  std::deque<std::int64_t> points_;
  std::exception_ptr error_;
};

// Serves the other ranks until each has been told that there is no more.
void deal(const mpi::communicator& world, Dealer& dealer) {
  for (int busy = world.size() - 1; busy > 0;) {
    const auto waiting = world.iprobe(mpi::any_source, kAsk);
    if (!waiting) {
      std::this_thread::sleep_for(kNap);
      continue;
    }
    std::int64_t word = 0;
    world.recv(waiting->source(), kAsk, word);
    if (word >= 0) dealer.report(static_cast<PointStatus>(word));
    if (word == kStopped) {
      --busy;
      continue;
    }
    const std::int64_t index = dealer.next();
    world.send(waiting->source(), kTake, index);
    if (index == kNoMore) --busy;
  }
}

void lead(const mpi::communicator& world, const MpiJob& job, std::vector<std::int64_t> points) {
  Dealer dealer(job, std::move(points));
  std::vector<std::thread> workers;
  const int threads = world.size() == 1 ? job.threads_alone : 1;
  for (int t = 0; t < threads; ++t) workers.emplace_back([&dealer] { dealer.work(); });
  deal(world, dealer);
  for (std::thread& worker : workers) worker.join();
  dealer.rethrow();
}

void follow(const mpi::communicator& world, const MpiJob& job) {
  std::int64_t word = kFirst;
  for (;;) {
    world.send(0, kAsk, word);
    std::int64_t index = kNoMore;
    world.recv(0, kTake, index);
    if (index == kNoMore) return;
    try {
      word = static_cast<std::int64_t>(job.run(index));
    } catch (...) {
      world.send(0, kAsk, kStopped);
      throw;
    }
  }
}

// All ranks, before they end; asleep, where MPI_Finalize would wait at full speed.
void meet(const mpi::communicator& world) {
  MPI_Request request;
  MPI_Ibarrier(world, &request);
  for (int there = 0; there == 0;) {
    MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    if (there == 0) std::this_thread::sleep_for(5 * kNap);
  }
}

}  // namespace

bool built_with_mpi() { return true; }

bool run_on_mpi(const MpiJob& job) {
  bool first = false;
  std::exception_ptr error;  // leaves after MPI has been closed: it would abort all ranks
  {
    const mpi::environment environment(mpi::threading::funneled);
    const mpi::communicator world;
    first = world.rank() == 0;
    bool ready = true;
    std::vector<std::int64_t> points;
    if (first) {
      try {
        points = job.prepare();
      } catch (...) {
        error = std::current_exception();
        ready = false;
      }
    }
    mpi::broadcast(world, ready, 0);
    try {
      if (ready && first) lead(world, job, std::move(points));
      if (ready && !first) follow(world, job);
    } catch (...) {
      error = std::current_exception();
    }
    meet(world);
  }
  if (error) std::rethrow_exception(error);
  return first;
}

}  // namespace headway

#else

namespace headway {

bool built_with_mpi() { return false; }

bool run_on_mpi(const MpiJob&) {
  throw InternalError("a program without MPI was asked to use it");
}

}  // namespace headway

#endif
