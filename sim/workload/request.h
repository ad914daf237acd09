#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/sim_time.h"

namespace headway {

// One prompt to be answered: the facts a client sends, plus the answer length that the trace
// recorded. Immutable once it has been sent; progress lives in scheduling/sequence.h.
struct Request {
  std::uint64_t id = 0;             // position in the workload, from 0; unique within a run
  SimTime arrival;                  // when the client sends it
  std::int32_t prompt_tokens = 0;   // >= 1
  std::int32_t output_tokens = 0;   // >= 1: what the model will emit before it stops
  std::int32_t max_tokens = 0;      // the client's limit; 0 = output_tokens (length stop)
  std::int32_t priority = 0;        // smaller is more urgent (vLLM's convention)
  std::int32_t tenant = 0;          // client account, for fair schedulers
  std::int32_t samples = 1;         // parallel samples of one prompt
  std::int32_t beam_width = 0;      // 0 = no beam search
  float acceptance_rate = -1.0F;    // of drafted tokens, when the trace has it; < 0 = unknown

  // Sessions: turn k is sent think_time after turn k-1 of the same session has finished.
  std::int64_t session_id = -1;     // -1 = a request of its own
  std::int32_t turn = 0;            // from 0
  SimTime think_time;               // after the previous turn; unused on turn 0
  SimTime held;                     // time a concurrency limit kept it back before `arrival`
  SimTime queued;                   // waited at the gateway after `arrival`, before a replica took it

  // What its tokens are, for prefix caches (see token_at). Empty = unlike any other request.
  std::int64_t prefix_group = -1;        // requests of a group share their first tokens
  std::int32_t prefix_tokens = 0;        // how many
  std::int32_t content_granularity = 0;  // prompt tokens named by one of content_ids; 0 = none
  std::vector<std::uint64_t> content_ids;
  std::vector<std::uint64_t> output_ids;  // one an output token, where a recording has them
};

// The identity of token `position` (prompt tokens first, then output): two tokens are equal exactly
// when their identities are. Recorded ids come back as they are when content_granularity is 1.
std::uint64_t token_at(const Request& request, std::int32_t position);

}  // namespace headway
