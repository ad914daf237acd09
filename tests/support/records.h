#pragma once

#include <cstdint>

#include "sim/metrics/observer.h"

namespace headway {

// A finished request by its four instants in seconds; the time to the first token is booked as
// queueing up to `scheduled` and own prefill after it, the rest as decode.
inline RequestRecord finished(std::uint64_t id, double arrival, double scheduled,
                              double first_token, double finish, std::int32_t prompt_tokens,
                              std::int32_t output_tokens) {
  RequestRecord r;
  r.id = id;
  r.arrival = SimTime::from_seconds(arrival);
  r.scheduled = SimTime::from_seconds(scheduled);
  r.first_token = SimTime::from_seconds(first_token);
  r.finish = SimTime::from_seconds(finish);
  r.prompt_tokens = prompt_tokens;
  r.output_tokens = output_tokens;
  r.split[static_cast<std::size_t>(LatencyPart::kQueue)] = r.scheduled - r.arrival;
  r.split[static_cast<std::size_t>(LatencyPart::kPrefill)] = r.first_token - r.scheduled;
  r.split[static_cast<std::size_t>(LatencyPart::kDecode)] = r.finish - r.first_token;
  r.finish_reason = "length";
  return r;
}

// The same, failed: rejected at `finish`.
inline RequestRecord rejected(std::uint64_t id, double arrival, double finish, const char* reason) {
  RequestRecord r;
  r.id = id;
  r.arrival = SimTime::from_seconds(arrival);
  r.finish = SimTime::from_seconds(finish);
  r.prompt_tokens = 9;
  r.failed = true;
  r.finish_reason = reason;
  return r;
}

}  // namespace headway
