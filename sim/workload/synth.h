#pragma once

#include <cstdint>
#include <memory>

#include "sim/workload/rate_curve.h"
#include "sim/workload/request_source.h"

namespace headway {

// A synthetic week of a cloud's LLM traffic ("azure-week"): a model, not data. Two services share
// the load, a conversation service and a coding assistant.
//
// Shape. Each service's rate follows the hour of the day and the day of the week; the clock starts
// on a Friday at 0:00. That such services swing by day and night and rest at weekends, and that coding
// does so far more than conversation, is common knowledge of clouds; every figure here is a choice of
// ours and was measured nowhere:
//
//     rate(h) = w (v + (1 - v) ((1 + cos(2 pi (h - 15) / 24)) / 2)^p)    at full hours, linear between
//                     v      p    w on Saturday and Sunday    share of a week's requests
//     conversation   0.42   1.0   0.75                        0.62
//     coding         0.10   1.5   0.33                        0.38
//
// so that the busiest hour has about 3.2 (conversation) and 30 (coding) times the quietest's rate.
//
// Arrivals. Exactly num_prompts within `days`: given their number, the arrivals of a Poisson process
// whose rate has that shape. They are drawn in order (spacings of ordered uniforms, stretched by the
// integral of the rate), rounded to the microsecond, in constant memory. rate_scale divides them.
//
// Lengths. Prompt and answer together: rows of the Azure 2023 traces of the same service, drawn with
// equal chance. `tenant` is 0 for conversation, 1 for coding.
//
// Streams: "synth.arrivals", "synth.service", "synth.conversation", "synth.coding".
// InputError names the option.
std::unique_ptr<RequestSource> open_synth(const WorkloadOptions& options, std::uint64_t seed);

// The total rate (in relative units) and the coding service's own, a week from Friday 0:00.
const RateCurve& azure_week_total();
const RateCurve& azure_week_coding();

// As many as the published week has, for any number of days: 44 million a week.
std::int64_t default_synth_requests(double days);

}  // namespace headway
