#include "sim/scheduling/sequence.h"

#include <algorithm>

namespace headway {

Sequence make_sequence(const Request& request, std::uint32_t slot, std::uint64_t order,
                       SimTime arrival) {
  Sequence sequence;
  sequence.request = &request;
  sequence.slot = slot;
  sequence.order = order;
  sequence.arrival = arrival;
  sequence.prompt_tokens = request.prompt_tokens;
  sequence.max_tokens = request.max_tokens > 0 ? request.max_tokens : request.output_tokens;
  sequence.output_target = std::min(sequence.max_tokens, request.output_tokens);
  sequence.priority = request.priority;
  return sequence;
}

}  // namespace headway
