#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headway {

// A length in tokens: a number or a distribution. Draws are rounded and clamped to [min, max].
struct LengthOptions {
  std::string distribution = "fixed";  // fixed | uniform | normal | lognormal | mixture | empirical
  double value = 0;                    // fixed
  double low = 0, high = 0;            // uniform, both ends included
  double mean = 0, stddev = 0;         // normal and lognormal: of the lengths themselves
  std::string file;                    // empirical: a trace (or lengths file) whose column is drawn from
  std::vector<LengthOptions> parts;    // mixture
  std::vector<double> weights;         // mixture
  std::int64_t min = 1, max = 1'000'000;
};

struct SessionOptions {                // multi-turn conversations (generated workloads)
  LengthOptions turns;                 // turns a session
  LengthOptions new_input_len;         // tokens a turn adds
  double think_time_s = 0;             // mean; exponential
  std::int32_t shared_prefix_tokens = 0;  // system prompt common to all sessions
  std::int32_t prefix_groups = 1;
};

struct TenantOptions {                 // one of several accounts (generated workloads)
  double share = 1;                    // of requests, or of sessions; in relation to the other shares
  std::int32_t priority = 0;           // of its requests; smaller is more urgent
};

// The `workload` block: a trace, a synthetic trace, or a generator.
struct WorkloadOptions {
  // Trace
  std::string trace;                   // path or catalogue name ("azure-2023-conv"); "" = generate
  std::string format = "auto";         // a row of the format table
  double rate_scale = 1.0;             // arrivals this many times as fast
  std::int64_t limit = 0;              // requests, after the offset; 0 = all
  double offset_s = 0;                 // skip what arrives in the trace's first seconds
  std::int32_t hash_block_size = 0;    // tokens a hash id names; 0 = the format's own (512)
  std::string failed_rows = "skip";    // skip | error
  // Synthetic trace (with num_prompts, rate_scale and limit)
  std::string synth;                   // "azure-week", see synth.h; "" = none
  double days = 7;                     // that it spans
  // All
  std::int32_t max_concurrency = 0;    // at most that many in flight; 0 = open loop
  std::int32_t samples = 0;            // parallel samples a request; 0 = 1, or what the trace says
  std::int32_t beam_width = 0;         // beams a request; 0 = none, or what the trace says
  // Generator
  std::int64_t num_prompts = 0;
  double request_rate = 0;             // per second; infinity = all at once
  double burstiness = 1.0;             // gamma shape; 1 = Poisson, infinity = constant gaps
  bool rescale_arrivals = false;       // vLLM's: the last request is sent exactly at n / rate
  LengthOptions input_len, output_len;
  std::optional<SessionOptions> sessions;
  std::vector<TenantOptions> tenants;  // Request::tenant is the place in the list; empty = one

  bool generated() const { return trace.empty() && synth.empty(); }
};

}  // namespace headway
