#pragma once

#include <memory>
#include <string>

#include "sim/workload/request_source.h"

namespace headway {

// Generated requests: num_prompts of them, arrivals by ArrivalProcess, lengths by LengthSampler,
// each from its own random stream ("arrivals", "input_len", "output_len" ...), so that changing one
// of them leaves the others as they were.
//
// With sessions, request_rate counts conversations that start, num_prompts still counts requests
// (the last conversation is cut there). The prompt of turn i is all that was said before, prompts
// and answers, and its own new input; it starts with the system prompt of its prefix group. A turn
// carries the arrival of its conversation as a lower bound: when it is sent depends on the answers
// (Client). A conversation ends early where a prompt would pass kMaxRowTokens.
//
// InputError names the option ("workload.num_prompts").
std::unique_ptr<RequestSource> open_generator(const WorkloadOptions& options,
                                              const std::string& base_folder, std::uint64_t seed);

}  // namespace headway
