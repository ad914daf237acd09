#include "sim/report/timeline.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/core/errors.h"
#include "sim/core/hash.h"
#include "sim/core/number_text.h"
#include "sim/metrics/decode_run.h"

namespace headway {
namespace {

constexpr double kLatest = 1e9;  // seconds
constexpr std::int64_t kLastPlace = 1'000'000;  // of a process: after all replicas

SimTime parse_seconds(const std::string& text, SimTime absent, const std::string& whole,
                      const std::string& flag) {
  if (text.empty()) return absent;
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc{} || parsed != end || !(seconds >= 0 && seconds <= kLatest)) {
    throw InputError({"command line", flag, "\"" + whole + "\"",
                      "T0:T1, two times in seconds (either may be left out), such as 60:120"});
  }
  return SimTime::from_seconds(seconds);
}

double kv_share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

// By name, for viewers colour and count by it.
std::string_view step_name(const StepRecord& step) {
  if (step.prefill_tokens == 0) return "decode";
  return step.decode_tokens == 0 ? "prefill" : "mixed";
}

// Slices are written a nanosecond or two shorter than they were, so that one has ended when its
// neighbour begins, and before the one around it, also for a viewer that adds start and length in
// floating point.
SimTime shorter(SimTime length, std::int64_t ns) {
  return std::max(length - SimTime::from_ns(ns), SimTime());
}

}  // namespace

TimelineOptions parse_timeline_options(const std::string& window, const std::string& flag,
                                       double sample) {
  TimelineOptions options;
  options.sample = sample;
  if (window.empty()) return options;
  const auto colon = window.find(':');
  const auto bad = [&](const char* expected) {
    return InputError({"command line", flag, "\"" + window + "\"", expected});
  };
  if (colon == std::string::npos) throw bad("T0:T1, two times in seconds, such as 60:120");
  options.from = parse_seconds(window.substr(0, colon), SimTime(), window, flag);
  options.to = parse_seconds(window.substr(colon + 1), SimTime::never(), window, flag);
  if (options.from >= options.to) throw bad("T0:T1 with T0 before T1");
  return options;
}

Timeline::Timeline(const std::string& path, TimelineOptions options)
    : out_(path),
      options_(options),
      every_(static_cast<std::uint64_t>(std::max(1.0, std::round(1 / options.sample)))),
      most_hash_(options.sample >= 1 ? UINT64_MAX
                                     : static_cast<std::uint64_t>(options.sample * 0x1p64)) {
  out_.name(kRequests, 0, "requests");
  out_.name(kRequests, 1, "arrivals");
  out_.place(kRequests, kLastPlace);
}

bool Timeline::samples(std::uint64_t request) const { return mix64(request) <= most_hash_; }

bool Timeline::tells(const StepRecord& step) const {
  return step.step % every_ == 0 && in_window(step.start, step.start + step.duration);
}

Timeline::Replica& Timeline::replica(std::uint32_t id) {
  if (id >= replicas_.size()) replicas_.resize(id + 1);
  return replicas_[id];
}

// A thread for the step: the first on which the one before has ended.
Timeline::Replica& Timeline::place(const StepRecord& step) {
  Replica& replica = this->replica(step.replica);
  if (replica.placed == step.step + 1) return replica;
  const std::int64_t process = kFirstReplica + step.replica;
  if (replica.placed == 0) {
    out_.name(process, 0, "replica " + std::to_string(step.replica));
    out_.place(process, step.replica);
  }
  replica.placed = step.step + 1;
  if (replica.ended < step.start) fall_idle(replica, step.replica);
  replica.emptied = false;
  const auto free = std::find_if(replica.lanes.begin(), replica.lanes.end(),
                                 [&](SimTime end) { return end <= step.start; });
  replica.lane = static_cast<std::size_t>(free - replica.lanes.begin());
  if (free == replica.lanes.end()) {
    replica.lanes.emplace_back();
    const std::string number = replica.lane == 0 ? "" : " " + std::to_string(replica.lane + 1);
    out_.name(process, static_cast<std::int64_t>(replica.lanes.size()), "engine" + number);
  }
  replica.lanes[replica.lane] = replica.ended = step.start + step.duration;
  return replica;
}

void Timeline::on_arrival(std::uint64_t request, SimTime now) {
  if (now < options_.to && samples(request)) arrivals_[request] = now;
}

void Timeline::leave(std::uint64_t request) {
  const auto found = where_.find(request);
  if (found == where_.end()) return;
  Replica& its = replica(found->second);
  its.emptied = --its.requests == 0 || its.emptied;
  where_.erase(found);
}

void Timeline::enter(std::uint64_t request, std::uint32_t id) {
  leave(request);
  ++replica(id).requests;
  where_[request] = id;
}

void Timeline::on_queued(std::uint64_t request, std::uint32_t replica, SimTime, SimTime, SimTime) {
  enter(request, replica);
}

void Timeline::on_left(std::uint64_t request, SimTime) { leave(request); }

void Timeline::on_received(std::uint64_t request, std::uint32_t replica, SimTime) {
  enter(request, replica);
}

void Timeline::on_step_facts(const StepFacts& step) {
  const bool told = tells(step.record);
  const SimTime end = step.record.start + step.record.duration;
  for (const SequenceFacts& s : step.sequences) {
    if (!s.prefill || s.sample != 0 || !samples(s.request)) continue;
    if (const auto arrival = arrivals_.find(s.request); arrival != arrivals_.end()) {
      if (told) flows_.push_back({s.request, arrival->second});
      arrivals_.erase(arrival);
    }
    if (!in_window(end, end)) continue;
    std::vector<Instant>& instants = instants_[s.request];
    if (s.starts && s.computed_before > 0) {
      instants.push_back({end, "prefix hit", s.computed_before});
    }
    instants.push_back({end, "chunk", s.tokens});
  }
}

// Arrivals of one instant have the same nanosecond on their thread, so that they nest. An end without
// a binding point belongs to the next slice of its thread: the step, which follows it in the file.
// Bound to the slice around it (bp: e), viewers hang it on the step before, which ends then.
void Timeline::tell_flows(std::int64_t process, std::int64_t thread, SimTime at) {
  for (const Flow& flow : flows_) {
    out_.begin("X", "arrival", kRequests, 1, flow.arrival);
    out_.time("dur", SimTime::from_ns(1));
    out_.arguments({{"request", static_cast<double>(flow.request)}});
    out_.end();
    out_.begin("s", "first step", kRequests, 1, flow.arrival);
    out_.text("cat", "flow");
    out_.id(flow.request);
    out_.end();
    out_.begin("f", "first step", process, thread, at);
    out_.text("cat", "flow");
    out_.id(flow.request);
    out_.end();
  }
  flows_.clear();
}

void Timeline::counter(Replica& replica, std::uint32_t id, std::string_view name, SimTime at,
                       double value) {
  const auto [last, fresh] = replica.counters.try_emplace(name);
  if (!fresh && last->second.value == value) return;
  last->second = {at, value};
  tell_counter(id, name, at, value);
}

void Timeline::tell_counter(std::uint32_t id, std::string_view name, SimTime at, double value) {
  out_.begin("C", name, kFirstReplica + id, 0, at);
  out_.arguments({{"value", value}});
  out_.end();
}

void Timeline::on_step(const StepRecord& step) {
  if (!tells(step)) return;
  Replica& replica = place(step);
  const std::int64_t process = kFirstReplica + step.replica;
  const auto thread = static_cast<std::int64_t>(replica.lane) + 1;
  tell_flows(process, thread, step.start);
  out_.begin("X", step_name(step), process, thread, step.start);
  out_.time("dur", shorter(step.duration, 1));
  out_.arguments({{"step", static_cast<double>(step.step)},
                  {"batch", step.batch},
                  {"prefill_tokens", step.prefill_tokens},
                  {"decode_tokens", step.decode_tokens},
                  {"cached_tokens", step.cached_tokens},
                  {"kv_blocks", static_cast<double>(step.kv_blocks)}});
  out_.end();
  const SimTime gpu = std::min(step.gpu, step.duration);
  out_.begin("X", "gpu", process, thread, step.start);
  out_.time("dur", shorter(gpu, gpu < step.duration ? 1 : 2));
  out_.arguments({{"linear_us", step.by_class_us[0]},
                  {"prefill_attention_us", step.by_class_us[1]},
                  {"decode_attention_us", step.by_class_us[2]},
                  {"lm_head_us", step.by_class_us[3]},
                  {"elementwise_us", step.by_class_us[4]},
                  {"communication_us", step.by_class_us[5]},
                  {"other_us", step.by_class_us[6]}});
  out_.end();
  if (step.duration > gpu) {
    out_.begin("X", "host", process, thread, step.start + gpu);
    out_.time("dur", shorter(step.duration - gpu, 2));
    out_.end();
  }
  counter(replica, step.replica, "running", step.start, static_cast<double>(step.running));
  counter(replica, step.replica, "waiting", step.start, static_cast<double>(step.waiting));
  counter(replica, step.replica, "kv_cache_usage", step.start,
          kv_share(step.kv_blocks, step.kv_blocks_total));
  counter(replica, step.replica, "batched_tokens", step.start,
          step.prefill_tokens + step.decode_tokens);
}

void Timeline::fall_idle(Replica& replica, std::uint32_t id) {
  if (every_ > 1 || replica.lanes.empty()) return;  // steps in between are not told, or none was yet
  counter(replica, id, "batched_tokens", replica.ended, 0);
  if (!replica.emptied) return;  // its requests wait: for KV, for other replicas
  counter(replica, id, "running", replica.ended, 0);
  counter(replica, id, "waiting", replica.ended, 0);
  counter(replica, id, "kv_cache_usage", replica.ended, 0);
}

// A replica whose last step ended within the window began no other in it. Counters are told once more
// at the end: a viewer may draw nothing of one that never changes.
void Timeline::on_end(SimTime now) {
  end_ = now;
  std::uint32_t id = 0;
  for (Replica& replica : replicas_) {
    if (replica.ended < options_.to) fall_idle(replica, id);
    for (const auto& [name, last] : replica.counters) {
      if (last.at < replica.ended) tell_counter(id, name, replica.ended, last.value);
    }
    ++id;
  }
}

void Timeline::on_decode_run(const DecodeRunRecord& run) {
  if (in_window(run.first.start, run.ends.back())) Observer::on_decode_run(run);
}

void Timeline::on_preemption(std::uint64_t request, std::uint32_t, SimTime now) {
  if (samples(request) && in_window(now, now)) instants_[request].push_back({now, "preempted"});
}

void Timeline::async(std::string_view phase, std::string_view name, std::uint64_t request,
                     SimTime at) {
  out_.begin(phase, name, kRequests, 1, at);
  out_.text("cat", "request");
  out_.id(request);
}

// A part of a request's life with what happened in it.
void Timeline::span(std::string_view name, const RequestRecord& request, SimTime from, SimTime to,
                    const std::vector<Instant>& instants) {
  async("b", name, request.id, from);
  out_.end();
  for (const Instant& instant : instants) {
    if (instant.at <= from || instant.at > to) continue;
    async("n", instant.name, request.id, instant.at);
    if (instant.tokens > 0) out_.arguments({{"tokens", instant.tokens}});
    out_.end();
  }
  async("e", name, request.id, to);
  out_.end();
}

void Timeline::on_finish(const RequestRecord& r) {
  arrivals_.erase(r.id);
  leave(r.id);
  std::vector<Instant> instants;
  if (const auto found = instants_.find(r.id); found != instants_.end()) {
    instants = std::move(found->second);
    instants_.erase(found);
  }
  if (!samples(r.id) || !in_window(r.arrival, r.finish)) return;
  async("b", "request", r.id, r.arrival);
  out_.arguments({{"request", static_cast<double>(r.id)},
                  {"input_tokens", r.prompt_tokens},
                  {"output_tokens", r.output_tokens},
                  {"cached_tokens", r.cached_tokens},
                  {"preemptions", r.preemptions},
                  {"replica", r.replica}});
  out_.end();
  if (r.failed) {
    async("n", "failed", r.id, r.finish);
    out_.end();
  } else {
    span("queue", r, r.arrival, r.scheduled, instants);
    span("prefill", r, r.scheduled, r.first_token, instants);
    if (r.finish > r.first_token) span("decode", r, r.first_token, r.finish, instants);
  }
  async("e", "request", r.id, r.finish);
  out_.end();
}

void Timeline::check_window(const std::string& flag) const {
  if (options_.from == SimTime() || options_.from <= end_) return;
  throw InputError({"command line", flag,
                    "a window from " + significant(options_.from.seconds(), 6) + " s on",
                    "one that begins before the run ends, at " + significant(end_.seconds(), 6) +
                        " s"});
}

std::string Timeline::note() const {
  if (events() <= kManyEvents) return "";
  return "note: the timeline has " + grouped(events()) +
         " events; a browser labours above a million: --timeline-window T0:T1 or --timeline-sample "
         "SHARE make it smaller\n";
}

}  // namespace headway
