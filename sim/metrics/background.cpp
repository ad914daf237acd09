#include "sim/metrics/background.h"

#include <algorithm>
#include <span>
#include <utility>

namespace headway {
namespace {

constexpr std::size_t kCallsAChunk = 4096;
constexpr std::size_t kChunks = 8;
constexpr std::size_t kArrayBytes = std::size_t{1} << 20;

}  // namespace

void BackgroundObserver::Chunk::make_room(std::size_t bytes) {
  room = std::max(bytes, kArrayBytes);
  arrays = std::make_unique_for_overwrite<std::byte[]>(room);
}

void BackgroundObserver::Chunk::clear() {
  kinds.clear();
  facts.clear();
  steps.clear();
  finishes.clear();
  fleets.clear();
  runs.clear();
  used = 0;
}

// Copies `values` to where the chunk has room for them. REQUIRES: it has.
template <typename T>
std::span<const T> BackgroundObserver::Chunk::keep(std::span<const T> values) {
  T* const to = reinterpret_cast<T*>(arrays.get() + used);
  std::uninitialized_copy(values.begin(), values.end(), to);
  used += (values.size_bytes() + kAlignment - 1) / kAlignment * kAlignment;
  return {to, values.size()};
}

BackgroundObserver::BackgroundObserver(Observer& inner)
    : inner_(inner), chunk_(std::make_unique<Chunk>()), full_(kChunks), spare_(kChunks + 2),
      thread_([this] { listen(); }) {}

BackgroundObserver::~BackgroundObserver() { stop(); }

void BackgroundObserver::note(Kind kind) {
  chunk_->kinds.push_back(kind);
  if (chunk_->kinds.size() >= kCallsAChunk) hand_over();
}

void BackgroundObserver::hand_over() {
  full_.push(std::move(chunk_));
  chunk_ = spare_.try_pop().value_or(nullptr);
  if (!chunk_) chunk_ = std::make_unique<Chunk>();
}

void BackgroundObserver::stop() {
  if (!thread_.joinable()) return;
  hand_over();
  full_.close();
  thread_.join();
}

void BackgroundObserver::on_arrival(std::uint64_t request, SimTime now) {
  chunk_->facts.push_back({static_cast<std::int64_t>(request), 0, now});
  note(Kind::kArrival);
}

void BackgroundObserver::on_step(const StepRecord& step) {
  chunk_->steps.push_back(step);
  note(Kind::kStep);
}

void BackgroundObserver::on_decode_run(const DecodeRunRecord& run) {
  const std::size_t bytes = run.ends.size_bytes() + run.gpu_us.size_bytes() + run.from.size_bytes() +
                            run.blocks_taken.size_bytes() + 4 * Chunk::kAlignment;
  if (chunk_->used + bytes > chunk_->room) {
    if (chunk_->used > 0) hand_over();
    if (bytes > chunk_->room) chunk_->make_room(bytes);
  }
  DecodeRunRecord& kept = chunk_->runs.emplace_back(run);
  kept.ends = chunk_->keep(run.ends);
  kept.gpu_us = chunk_->keep(run.gpu_us);
  kept.from = chunk_->keep(run.from);
  kept.blocks_taken = chunk_->keep(run.blocks_taken);
  note(Kind::kRun);
}

void BackgroundObserver::on_token_gaps(SimTime gap, std::int64_t count, SimTime now) {
  chunk_->facts.push_back({gap.ns(), count, now});
  note(Kind::kGaps);
}

void BackgroundObserver::on_tokens(std::int64_t count, SimTime now) {
  chunk_->facts.push_back({count, 0, now});
  note(Kind::kTokens);
}

void BackgroundObserver::on_preemption(std::uint64_t request, std::uint32_t replica, SimTime now) {
  chunk_->facts.push_back({static_cast<std::int64_t>(request), replica, now});
  note(Kind::kPreemption);
}

void BackgroundObserver::on_finish(const RequestRecord& request) {
  chunk_->finishes.push_back(request);
  note(Kind::kFinish);
}

void BackgroundObserver::on_fleet(const FleetRecord& fleet) {
  chunk_->fleets.push_back(fleet);
  note(Kind::kFleet);
}

void BackgroundObserver::on_end(SimTime now) {
  stop();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  inner_.on_end(now);
}

void BackgroundObserver::listen() {
  while (std::optional<ChunkPtr> chunk = full_.pop()) {
    if (!error_) {
      try {
        tell(**chunk);
      } catch (...) {
        error_ = std::current_exception();
      }
    }
    (*chunk)->clear();
    spare_.push(std::move(*chunk));
  }
}

void BackgroundObserver::tell(Chunk& c) {
  std::size_t fact = 0, step = 0, finish = 0, run = 0, fleet = 0;
  for (const Kind kind : c.kinds) {
    switch (kind) {
      case Kind::kStep: inner_.on_step(c.steps[step++]); break;
      case Kind::kFinish: inner_.on_finish(c.finishes[finish++]); break;
      case Kind::kFleet: inner_.on_fleet(c.fleets[fleet++]); break;
      case Kind::kRun: inner_.on_decode_run(c.runs[run++]); break;
      case Kind::kArrival: {
        const Fact& f = c.facts[fact++];
        inner_.on_arrival(static_cast<std::uint64_t>(f.a), f.now);
        break;
      }
      case Kind::kGaps: {
        const Fact& f = c.facts[fact++];
        inner_.on_token_gaps(SimTime::from_ns(f.a), f.b, f.now);
        break;
      }
      case Kind::kTokens: {
        const Fact& f = c.facts[fact++];
        inner_.on_tokens(f.a, f.now);
        break;
      }
      case Kind::kPreemption: {
        const Fact& f = c.facts[fact++];
        inner_.on_preemption(static_cast<std::uint64_t>(f.a), static_cast<std::uint32_t>(f.b), f.now);
        break;
      }
    }
  }
}

}  // namespace headway
