#include "sim/metrics/background.h"

#include <utility>

namespace headway {
namespace {

constexpr std::size_t kCallsAChunk = 4096;
constexpr std::size_t kChunks = 8;

}  // namespace

void BackgroundObserver::Chunk::clear() {
  kinds.clear();
  facts.clear();
  steps.clear();
  finishes.clear();
  runs.clear();
  ends.clear();
  gpu_us.clear();
  from.clear();
  blocks_taken.clear();
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
  Chunk& c = *chunk_;
  c.runs.push_back({run, c.ends.size(), c.blocks_taken.size(), run.ends.size(),
                    run.blocks_taken.size()});
  c.ends.insert(c.ends.end(), run.ends.begin(), run.ends.end());
  c.gpu_us.insert(c.gpu_us.end(), run.gpu_us.begin(), run.gpu_us.end());
  c.from.insert(c.from.end(), run.from.begin(), run.from.end());
  c.blocks_taken.insert(c.blocks_taken.end(), run.blocks_taken.begin(), run.blocks_taken.end());
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
  std::size_t fact = 0, step = 0, finish = 0, run = 0;
  for (const Kind kind : c.kinds) {
    switch (kind) {
      case Kind::kStep: inner_.on_step(c.steps[step++]); break;
      case Kind::kFinish: inner_.on_finish(c.finishes[finish++]); break;
      case Kind::kRun: {
        Run& r = c.runs[run++];
        r.record.ends = {c.ends.data() + r.first, r.steps};
        r.record.gpu_us = {c.gpu_us.data() + r.first, r.steps};
        r.record.from = {c.from.data() + r.first, r.steps};
        r.record.blocks_taken = {c.blocks_taken.data() + r.first_block, r.blocks};
        inner_.on_decode_run(r.record);
        break;
      }
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
