#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sim/core/sim_time.h"
#include "sim/metrics/step_facts.h"

namespace headway {

// The parts of a request's latency. They sum to its E2EL, to the nanosecond.
enum class LatencyPart : std::uint8_t {
  kQueue,         // arrival to first scheduled, less host time
  kPrefill,       // its own prompt being computed
  kInterference,  // held up by other requests' prefill
  kDecode,        // its own tokens being generated
  kPreemption,    // from losing its KV until it was back where it had been
  kHost,          // host terms: per request, per step, per sequence
  kTransfer,      // between two replicas: its KV waiting to be sent, and being sent
  kRetry,         // lost with a replica that failed, until it was sent to another one
};
inline constexpr std::size_t kLatencyParts = 8;
inline constexpr std::size_t kUsualParts = 6;  // the others are told of only where there are some
using LatencySplit = std::array<SimTime, kLatencyParts>;

// What is told of a finished (or rejected) request in numbers.
struct RequestNumbers {
  std::uint64_t id = 0;
  std::int64_t session_id = -1;
  std::int32_t tenant = 0, priority = 0;
  SimTime arrival, scheduled, first_token, finish;
  SimTime held;                     // waited for a concurrency limit before it was sent
  std::int32_t prompt_tokens = 0;
  std::int32_t output_tokens = 0;   // emitted, of all its answers
  std::int32_t answers = 1;         // parallel samples, equally long
  std::int32_t cached_tokens = 0;   // prompt tokens served by the prefix cache at first admission
  std::int32_t preemptions = 0;
  std::uint32_t replica = 0;
  SimTime max_itl;                  // longest gap between two of its tokens
  LatencySplit split{};
  bool failed = false;              // rejected or aborted: counted, not measured
};

// A finished (or rejected) request, as announced by its replica.
struct RequestRecord : RequestNumbers {
  std::string finish_reason;        // "stop", "length", or why it was rejected
};

// One engine step, announced when it ends.
struct StepRecord {
  std::uint32_t replica = 0;
  std::uint64_t step = 0;
  SimTime start, duration;
  std::int32_t batch = 0;           // sequences scheduled
  std::int32_t prefill_tokens = 0;
  std::int32_t decode_tokens = 0;
  std::int32_t cached_tokens = 0;   // prompt tokens skipped by prefix hits of sequences admitted now
  std::int64_t running = 0, waiting = 0;  // after the plan
  std::int64_t kv_blocks = 0;       // held after the plan
  std::int64_t kv_blocks_total = 0;
  std::int32_t preempted = 0;
  SimTime gpu, host;
  std::array<double, 7> by_class_us{};     // GPU time by OpClass
  std::array<double, 4> coverage_us{};     // GPU time by Coverage
  // Optional facts: zero where the engine at hand does not know them.
  std::int32_t recomputed_tokens = 0;      // of prefill_tokens: computed before, lost to preemption
  std::int64_t kv_tokens_reserved = 0;     // token slots of the held blocks, after the plan
  std::int64_t kv_tokens_stored = 0;       // of them, filled (the rest is internal fragmentation)
  std::int64_t kv_largest_free_run = 0;    // blocks; contiguous allocators (external fragmentation)
};

struct DecodeRunRecord;  // sim/metrics/decode_run.h

// RequestRecord::replica of a request that left without one: turned away before any replica.
inline constexpr std::uint32_t kNoReplica = UINT32_MAX;

// How many replicas of a pool are in which state, announced at the start and after every change in a
// fleet whose replicas come, go or fail.
struct FleetRecord {
  SimTime now;
  std::uint32_t pool = 0;
  std::int32_t starting = 0;  // weights being loaded
  std::int32_t ready = 0;     // taking requests
  std::int32_t draining = 0;  // finishing those they have
  std::int32_t failed = 0;    // to come back
};

// The KV of a prompt was sent from the engine that computed it to the one that goes on with the answer.
struct TransferRecord {
  std::uint64_t request = 0;
  std::uint32_t from = 0, to = 0;  // engines
  std::int32_t prompt_tokens = 0;
  std::int32_t cached_tokens = 0;  // of them, those that were there already
  double bytes = 0;
  SimTime handed;                  // the prompt was computed
  SimTime start, end;              // the link was taken from, to
};

// Hears the facts of a simulation. Arrivals and finishes come in simulated-time order; so does all that
// one replica tells. What several tell of their steps and preemptions is not in order between them: a
// run of decode steps is told when it is over, and a replica that nobody had to look at (replica.h) tells
// what has happened in it when somebody does. Where facts are heard, only runs are told late.
class Observer {
 public:
  virtual ~Observer() = default;
  // False: not interested in on_step(), on_decode_run(), on_token_gaps() and on_tokens(), most of the
  // calls by far. Asked once.
  virtual bool hears_steps() const { return true; }
  // True: what on_decode_run() hears is described, not laid out (DecodeRunRecord). Asked once.
  virtual bool lays_out_runs() const { return false; }
  // True: hears, beside the rest, who had which part in what (step_facts.h) and what held the others
  // back. Gathering that takes time, and is done for none who does not listen. Asked once.
  virtual bool hears_facts() const { return false; }
  virtual void on_arrival(std::uint64_t /*request*/, SimTime /*now*/) {}
  // Facts: it has passed the gateway and the host's front end and joins the queue of a replica (once
  // more where its replica failed); that replica has done its part and another one is to go on; its KV
  // has come to that one, whose queue it joins. Of the time since its arrival, `at_gateway` was spent
  // there, `lost` with replicas that failed.
  virtual void on_queued(std::uint64_t /*request*/, std::uint32_t /*replica*/, SimTime /*now*/,
                         SimTime /*at_gateway*/, SimTime /*lost*/) {}
  virtual void on_left(std::uint64_t /*request*/, SimTime /*now*/) {}
  virtual void on_received(std::uint64_t /*request*/, std::uint32_t /*replica*/, SimTime /*now*/) {}
  // Facts: a plan; the step's end, before on_step(); and the split of the time up to a first token
  // (of each of the request's sequences).
  virtual void on_plan(const PlanFacts& /*plan*/) {}
  virtual void on_step_facts(const StepFacts& /*step*/) {}
  virtual void on_first_token(std::uint64_t /*request*/, SimTime /*now*/,
                              const LatencySplit& /*split*/) {}
  virtual void on_step(const StepRecord& /*step*/) {}
  // A run of decode steps, in the place of the calls that each would have made: on_token_gaps() (but
  // for the first step, whose gaps are told apart), on_tokens() and on_step(). Makes those calls
  // unless overridden.
  virtual void on_decode_run(const DecodeRunRecord& run);
  // `count` gaps of `gap` between consecutive tokens, ending at `now` (pooled ITL). Tokens of one
  // request that come out of one step together (speculation) end one gap, as vLLM's chunks do.
  virtual void on_token_gaps(SimTime /*gap*/, std::int64_t /*count*/, SimTime /*now*/) {}
  // `count` output tokens came out at `now` (first tokens included).
  virtual void on_tokens(std::int64_t /*count*/, SimTime /*now*/) {}
  virtual void on_preemption(std::uint64_t /*request*/, std::uint32_t /*replica*/, SimTime /*now*/) {}
  virtual void on_finish(const RequestRecord& /*request*/) {}
  virtual void on_transfer(const TransferRecord& /*transfer*/) {}
  virtual void on_fleet(const FleetRecord& /*fleet*/) {}
  virtual void on_end(SimTime /*now*/) {}
};

}  // namespace headway
