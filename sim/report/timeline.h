#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/metrics/observer.h"
#include "sim/report/trace_events.h"

namespace headway {

struct TimelineOptions {
  SimTime from, to = SimTime::never();  // the steps and requests that touch this window
  double sample = 1;  // share of the requests, and of the steps, that is told; above 0
};
// "T0:T1" in seconds; either may be left out. InputError that names `flag`.
TimelineOptions parse_timeline_options(const std::string& window, const std::string& flag,
                                       double sample);

// --timeline: a run as Chrome trace JSON, for ui.perfetto.dev. Written as the run goes; the file
// appears at commit().
//
// A process for each replica: complete events (X) for its steps, strictly nested ("decode",
// "prefill" or "mixed" > "gpu", "host"), on as many threads as steps overlap; counters of running and
// waiting sequences, KV usage and tokens of a step, told when they change, also when the engine falls
// idle, and at the end. A process "requests": async events (b/n/e) of one id a
// request, "request" > "queue", "prefill", "decode", with instants for chunks, prefix hits and
// preemptions; and a thread of arrivals, from each of which a flow (s/f) leads to the step that ran
// the request first.
class Timeline final : public Observer {
 public:
  static constexpr std::int64_t kManyEvents = 1'000'000;  // a browser labours above that
  // Processes of the file.
  static constexpr std::int64_t kRequests = 1;
  static constexpr std::int64_t kFirstReplica = 2;

  Timeline(const std::string& path, TimelineOptions options);

  bool hears_facts() const override { return true; }
  void on_arrival(std::uint64_t request, SimTime now) override;
  void on_queued(std::uint64_t request, std::uint32_t replica, SimTime now, SimTime at_gateway,
                 SimTime lost) override;
  void on_left(std::uint64_t request, SimTime now) override;
  void on_received(std::uint64_t request, std::uint32_t replica, SimTime now) override;
  void on_step_facts(const StepFacts& step) override;
  void on_step(const StepRecord& step) override;
  void on_decode_run(const DecodeRunRecord& run) override;
  void on_preemption(std::uint64_t request, std::uint32_t replica, SimTime now) override;
  void on_finish(const RequestRecord& request) override;
  void on_end(SimTime now) override;

  std::int64_t events() const { return out_.events(); }
  // InputError, naming the flag, when the window begins after the end of the run.
  void check_window(const std::string& flag) const;
  // What the user should know of a large file; "" = nothing.
  std::string note() const;
  void commit() { out_.commit(); }

 private:
  struct Instant {
    SimTime at;
    std::string_view name;
    std::int32_t tokens = 0;
  };
  struct Told {
    SimTime at;
    double value = 0;
  };
  struct Replica {
    std::vector<SimTime> lanes;   // when the last step on each ended
    SimTime ended;                // when the newest step does
    std::size_t lane = 0;         // its thread
    std::uint64_t placed = 0;     // its number + 1
    std::map<std::string_view, Told> counters;
    std::int64_t requests = 0;    // that it has
    bool emptied = false;         // it had none for a moment since the newest step
  };
  struct Flow {
    std::uint64_t request = 0;
    SimTime arrival;
  };

  bool in_window(SimTime from, SimTime to) const {
    return from < options_.to && to >= options_.from;
  }
  bool samples(std::uint64_t request) const;
  bool tells(const StepRecord& step) const;
  Replica& place(const StepRecord& step);
  void counter(Replica& replica, std::uint32_t id, std::string_view name, SimTime at, double value);
  void tell_counter(std::uint32_t id, std::string_view name, SimTime at, double value);
  Replica& replica(std::uint32_t id);
  // The request is nowhere, or goes from where it was to another replica.
  void leave(std::uint64_t request);
  void enter(std::uint64_t request, std::uint32_t replica);
  // The engine has ended its steps, and what was told last no longer holds.
  void fall_idle(Replica& replica, std::uint32_t id);
  void tell_flows(std::int64_t process, std::int64_t thread, SimTime at);
  void async(std::string_view phase, std::string_view name, std::uint64_t request, SimTime at);
  void span(std::string_view name, const RequestRecord& request, SimTime from, SimTime to,
            const std::vector<Instant>& instants);

  TraceEvents out_;
  TimelineOptions options_;
  std::uint64_t every_;         // a step in so many
  std::uint64_t most_hash_;     // a request whose hash is no more
  SimTime end_;
  std::vector<Replica> replicas_;
  std::vector<Flow> flows_;     // to the step that is about to be told
  std::unordered_map<std::uint64_t, std::uint32_t> where_;  // the replica of each request
  std::unordered_map<std::uint64_t, SimTime> arrivals_;  // of requests that no step has run yet
  std::unordered_map<std::uint64_t, std::vector<Instant>> instants_;
};

}  // namespace headway
