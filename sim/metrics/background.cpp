#include "sim/metrics/background.h"

#include <utility>

namespace headway {
namespace {

constexpr std::size_t kChunks = 8;

}  // namespace

BackgroundObserver::BackgroundObserver(Observer& inner)
    : inner_(inner), chunk_(std::make_unique<CallLog>()), full_(kChunks), spare_(kChunks + 2),
      thread_([this] { listen(); }) {}

BackgroundObserver::~BackgroundObserver() { stop(); }

void BackgroundObserver::hand_over() {
  chunk_->close();
  full_.push(std::move(chunk_));
  chunk_ = spare_.try_pop().value_or(nullptr);
  if (!chunk_) chunk_ = std::make_unique<CallLog>();
}

void BackgroundObserver::stop() {
  if (!thread_.joinable()) return;
  hand_over();
  full_.close();
  thread_.join();
}

void BackgroundObserver::on_arrival(std::uint64_t request, SimTime now) {
  chunk_->arrival(request, now);
  pass_on();
}

void BackgroundObserver::on_step(const StepRecord& step) {
  chunk_->step(step);
  pass_on();
}

void BackgroundObserver::keep_prices(const DecodeRunRecord& run) {
  const std::uint32_t replica = run.first.replica;
  if (replica >= prices_of_.size()) prices_of_.resize(replica + 1);
  if (prices_of_[replica] == run.prices) return;
  prices_of_[replica] = run.prices;
  prices_.push_back(run.prices->shared_from_this());
}

void BackgroundObserver::on_decode_run(const DecodeRunRecord& run) {
  keep_prices(run);
  chunk_->run(run);
  pass_on();
}

void BackgroundObserver::on_token_gaps(SimTime gap, std::int64_t count, SimTime now) {
  chunk_->gaps(gap, count, now);
  pass_on();
}

void BackgroundObserver::on_tokens(std::int64_t count, SimTime now) {
  chunk_->tokens(count, now);
  pass_on();
}

void BackgroundObserver::on_preemption(std::uint64_t request, std::uint32_t replica, SimTime now) {
  chunk_->preemption(request, replica, now);
  pass_on();
}

void BackgroundObserver::on_finish(const RequestRecord& request) {
  chunk_->finish(request);
  pass_on();
}

void BackgroundObserver::on_fleet(const FleetRecord& fleet) {
  chunk_->fleet(fleet);
  pass_on();
}

void BackgroundObserver::on_end(SimTime now) {
  stop();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  inner_.on_end(now);
}

void BackgroundObserver::listen() {
  DecodeRunBuffers laid_out;  // not a member: both threads would write to one line of the cache
  while (std::optional<ChunkPtr> chunk = full_.pop()) {
    if (!error_) {
      try {
        (*chunk)->tell(inner_, laid_out);
      } catch (...) {
        error_ = std::current_exception();
      }
    }
    (*chunk)->clear();
    spare_.push(std::move(*chunk));
  }
}

}  // namespace headway
