#include "sim/metrics/call_log.h"

#include <algorithm>
#include <type_traits>

#include "sim/core/errors.h"

namespace headway {

// What any entry takes beside its arrays, rounded up.
constexpr std::size_t kMostBytes = 1024;

void CallLog::grow(std::size_t bytes) {
  bytes = std::max(bytes, kFullBytes + kMostBytes);
  room_.resize((bytes + sizeof(Block) - 1) / sizeof(Block));
  begin_ = room_.front().bytes;
  bytes_ = room_.size() * sizeof(Block);
}

template <typename T>
void CallLog::put(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kStreamBlock);
  static_assert(sizeof value + sizeof(Head) <= kMostBytes);
  stream_copy(begin_ + used_, &value, sizeof value);
  used_ += stream_bytes(sizeof value);
}

template <typename T>
void CallLog::put_all(std::span<const T> values) {
  stream_copy(begin_ + used_, values.data(), values.size_bytes());
  used_ += stream_bytes(values.size_bytes());
}

void CallLog::put_words(Kind kind, std::uint64_t count, std::uint64_t number, SimTime now) {
  static_assert(sizeof(Head) == 2 * sizeof(std::int64_t));
  stream_word(begin_ + used_, static_cast<std::int64_t>(kind | count << 4 | number << 32));
  stream_word(begin_ + used_ + sizeof(std::int64_t), now.ns());
  used_ += sizeof(Head);
}

// Other than put_numbers(): counts of what follows, which are small.
void CallLog::put_head(Kind kind, std::size_t count, std::size_t number) {
  SIM_CHECK(count < kWide && number <= UINT32_MAX, "an array is too long to be written down");
  put_words(kind, count, number, SimTime());
}

void CallLog::put_numbers(Kind kind, std::int64_t count, std::int64_t number, SimTime now) {
  make_room(kMostBytes);
  if (0 <= count && count < kWide && 0 <= number && number <= UINT32_MAX) {
    put_words(kind, static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(number), now);
  } else {
    put_words(kind, kWide, 0, now);
    put(Wide{count, number});
  }
}

void CallLog::arrival(std::uint64_t request, SimTime now) {
  put_numbers(kArrival, 0, static_cast<std::int64_t>(request), now);
}

void CallLog::gaps(SimTime gap, std::int64_t count, SimTime now) {
  put_numbers(kGaps, count, gap.ns(), now);
}

void CallLog::tokens(std::int64_t count, SimTime now) { put_numbers(kTokens, count, 0, now); }

void CallLog::preemption(std::uint64_t request, std::uint32_t replica, SimTime now) {
  put_numbers(kPreemption, replica, static_cast<std::int64_t>(request), now);
}

void CallLog::step(const StepRecord& step) {
  make_room(kMostBytes);
  put_head(kStep);
  put(step);
}

void CallLog::run(const DecodeRunFacts& run) {
  make_room(kMostBytes + run.gaps_ns.size_bytes() + run.blocks_taken.size_bytes());
  put_head(kRun, run.blocks_taken.size(), run.gaps_ns.size());
  put(run);
  put_all(run.gaps_ns);
  put_all(run.blocks_taken);
}

void CallLog::finish(const RequestRecord& request) {
  const std::span<const char> reason = request.finish_reason;
  make_room(kMostBytes + reason.size());
  put_head(kFinish, reason.size());
  put(static_cast<const RequestNumbers&>(request));
  put_all(reason);
}

void CallLog::fleet(const FleetRecord& fleet) {
  make_room(kMostBytes);
  put_head(kFleet);
  put(fleet);
}

class CallLog::Reader {
 public:
  explicit Reader(const std::byte* from) : at_(from) {}
  const std::byte* at() const { return at_; }

  template <typename T>
  const T& take() {
    const T& value = *reinterpret_cast<const T*>(at_);
    at_ += stream_bytes(sizeof(T));
    return value;
  }
  template <typename T>
  std::span<const T> take(std::size_t count) {
    const std::span<const T> values(reinterpret_cast<const T*>(at_), count);
    at_ += stream_bytes(values.size_bytes());
    return values;
  }

 private:
  const std::byte* at_;
};

void CallLog::tell_numbers(std::uint32_t kind, std::int64_t count, std::int64_t number, SimTime now,
                           Observer& observer) {
  const auto request = static_cast<std::uint64_t>(number);
  switch (kind) {
    case kArrival: return observer.on_arrival(request, now);
    case kGaps: return observer.on_token_gaps(SimTime::from_ns(number), count, now);
    case kTokens: return observer.on_tokens(count, now);
    default: return observer.on_preemption(request, static_cast<std::uint32_t>(count), now);
  }
}

void CallLog::tell(Observer& observer, DecodeRunBuffers& buffers) const {
  Reader log(begin_);
  const std::byte* const end = log.at() + used_;
  const bool lays_out = !observer.lays_out_runs();
  DecodeRunRecord run;
  RequestRecord request;
  while (log.at() != end) {
    const Head& head = log.take<Head>();
    switch (head.kind()) {
      case kStep: observer.on_step(log.take<StepRecord>()); break;
      case kFleet: observer.on_fleet(log.take<FleetRecord>()); break;
      case kRun:
        static_cast<DecodeRunFacts&>(run) = log.take<DecodeRunFacts>();
        run.gaps_ns = log.take<std::int32_t>(head.number());
        run.blocks_taken = log.take<std::int32_t>(head.count());
        if (lays_out) run.lay_out(buffers);
        observer.on_decode_run(run);
        break;
      case kFinish: {
        static_cast<RequestNumbers&>(request) = log.take<RequestNumbers>();
        const std::span<const char> reason = log.take<char>(head.count());
        request.finish_reason.assign(reason.begin(), reason.end());
        observer.on_finish(request);
        break;
      }
      default: {
        const Wide numbers =
            head.count() == kWide ? log.take<Wide>() : Wide{head.count(), head.number()};
        const SimTime now = SimTime::from_ns(head.now_ns);
        tell_numbers(head.kind(), numbers.count, numbers.number, now, observer);
      }
    }
  }
}

}  // namespace headway
