#include "sim/metrics/run_history.h"

#include <algorithm>

#include "sim/core/errors.h"
#include "sim/metrics/decode_run.h"

namespace headway {
namespace {

double share_of(std::int64_t blocks, const StepRecord& s) {
  if (s.kv_blocks_total <= 0) return 0;
  return static_cast<double>(blocks) / static_cast<double>(s.kv_blocks_total);
}

}  // namespace

void HistoryColumn::add(const HistoryColumn& other) {
  in_system_ns += other.in_system_ns;
  if (other.in_system_min >= 0) {
    in_system_min = in_system_min < 0 ? other.in_system_min
                                      : std::min(in_system_min, other.in_system_min);
    in_system_max = std::max(in_system_max, other.in_system_max);
  }
  running_ns += other.running_ns;
  waiting_ns += other.waiting_ns;
  busy_ns += other.busy_ns;
  kv_share_ns += other.kv_share_ns;
  kv_peak = std::max(kv_peak, other.kv_peak);
  output_tokens += other.output_tokens;
  prefill_tokens += other.prefill_tokens;
  arrivals += other.arrivals;
  finishes += other.finishes;
  preemptions += other.preemptions;
}

HistoryColumn& RunHistory::column_at(std::int64_t ns) {
  end_ns_ = std::max(end_ns_, ns);
  while (ns / width_ns_ >= static_cast<std::int64_t>(kColumns)) {
    for (std::size_t i = 0; i < kColumns / 2; ++i) {
      HistoryColumn joined = columns_[2 * i];
      joined.add(columns_[2 * i + 1]);
      columns_[i] = joined;
    }
    std::fill(columns_.begin() + kColumns / 2, columns_.end(), HistoryColumn());
    width_ns_ *= 2;
  }
  return columns_[static_cast<std::size_t>(ns / width_ns_)];
}

template <typename Visit>
void RunHistory::each(std::int64_t from_ns, std::int64_t to_ns, const Visit& visit) {
  column_at(to_ns);  // wide enough from here on
  while (from_ns < to_ns) {
    const std::int64_t column = from_ns / width_ns_;
    const std::int64_t end = std::min(to_ns, (column + 1) * width_ns_);
    visit(columns_[static_cast<std::size_t>(column)], from_ns, end);
    from_ns = end;
  }
}

void RunHistory::note_in_system(std::int64_t ns) {
  HistoryColumn& column = column_at(ns);
  column.in_system_min =
      column.in_system_min < 0 ? in_system_ : std::min(column.in_system_min, in_system_);
  column.in_system_max = std::max(column.in_system_max, in_system_);
}

// Within one replica time only moves forward; a late report of another's finish changes the count
// from here on.
void RunHistory::advance(SimTime now) {
  if (now.ns() <= last_ns_) return;
  each(last_ns_, now.ns(), [&](HistoryColumn& column, std::int64_t from, std::int64_t to) {
    column.in_system_ns += static_cast<double>(in_system_) * static_cast<double>(to - from);
    note_in_system(from);
  });
  last_ns_ = now.ns();
}

void RunHistory::on_arrival(std::uint64_t /*request*/, SimTime now) {
  advance(now);
  ++in_system_;
  note_in_system(now.ns());
  ++column_at(now.ns()).arrivals;
}

void RunHistory::on_finish(const RequestRecord& request) {
  advance(request.finish);
  --in_system_;
  SIM_CHECK(in_system_ >= 0, "INV-1: more requests left than arrived");
  note_in_system(std::max(last_ns_, request.finish.ns()));
  ++column_at(request.finish.ns()).finishes;
}

void RunHistory::on_end(SimTime now) { advance(now); }

void RunHistory::on_tokens(std::int64_t count, SimTime now) {
  column_at(now.ns()).output_tokens += static_cast<double>(count);
}

void RunHistory::busy(std::uint32_t replica, SimTime start, SimTime end, const State& state) {
  if (replica >= busy_until_.size()) busy_until_.resize(replica + 1);
  const std::int64_t from = std::max(start, busy_until_[replica]).ns(), to = end.ns();
  busy_until_[replica] = std::max(busy_until_[replica], end);
  const double slope = (state.kv_share_last - state.kv_share_first) /
                       static_cast<double>(std::max<std::int64_t>(1, (end - start).ns()));
  each(from, to, [&](HistoryColumn& column, std::int64_t a, std::int64_t b) {
    const auto ns = static_cast<double>(b - a);
    const double kv_a = state.kv_share_first + slope * static_cast<double>(a - start.ns());
    const double kv_b = kv_a + slope * ns;
    column.busy_ns += ns;
    column.running_ns += ns * static_cast<double>(state.running);
    column.waiting_ns += ns * static_cast<double>(state.waiting);
    column.kv_share_ns += ns * (kv_a + kv_b) / 2;
    column.kv_peak = std::max({column.kv_peak, kv_a, kv_b});
  });
}

void RunHistory::on_step(const StepRecord& s) {
  const SimTime end = s.start + s.duration;
  const double kv = share_of(s.kv_blocks, s);
  busy(s.replica, s.start, end, {s.running, s.waiting, kv, kv});
  HistoryColumn& column = column_at(end.ns());
  column.prefill_tokens += s.prefill_tokens;
  column.preemptions += s.preempted;
}

void RunHistory::on_decode_run(const DecodeRunRecord& run) {
  const StepRecord& s = run.first;
  on_step(s);
  on_tokens(s.batch, run.ends.front());
  const std::int64_t later = run.steps() - 1;
  if (later == 0) return;
  const SimTime start = run.ends.front(), end = run.ends.back();
  const std::int64_t kv = s.kv_blocks - run.given_back.blocks;
  busy(s.replica, start, end,
       {s.running - run.given_back.running, s.waiting, share_of(kv + run.blocks_taken_by(1), s),
        share_of(kv + run.blocks_taken_by(later), s)});
  const double tokens_per_ns = static_cast<double>(later * s.batch) /
                               static_cast<double>(std::max<std::int64_t>(1, (end - start).ns()));
  each(start.ns(), end.ns(), [&](HistoryColumn& column, std::int64_t a, std::int64_t b) {
    column.output_tokens += tokens_per_ns * static_cast<double>(b - a);
  });
}

std::vector<HistoryColumn> RunHistory::columns(std::int64_t width_ns) const {
  const std::int64_t times = width_ns / width_ns_;
  SIM_CHECK(times >= 1 && times * width_ns_ == width_ns, "columns of another width");
  const auto last = static_cast<std::size_t>(end_ns_ / width_ns_);
  std::vector<HistoryColumn> out;
  for (std::size_t i = 0; i <= last; ++i) {
    if (i % static_cast<std::size_t>(times) == 0) out.emplace_back();
    out.back().add(columns_[i]);
  }
  return out;
}

}  // namespace headway
