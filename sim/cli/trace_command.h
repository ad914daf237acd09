#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "sim/workload/workload_options.h"

namespace headway {

// headway trace inspect: what a trace is like, to `out` as a text block or one JSON object.
// `options.trace` is a path (relative to the working folder), "-" or a catalogue name; format,
// limit, offset_s, rate_scale ... apply as in a scenario. Returns the exit code 0, or throws.
int trace_inspect(const WorkloadOptions& options, bool json, std::FILE* out);

// headway trace convert: writes the trace to `path` ("-" is stdout; .gz is compressed) in our own
// "csv" or in "mooncake" form ("" = by the name of `path`). Notes go to `talk` unless it is null.
int trace_convert(const WorkloadOptions& options, const std::string& path, const std::string& to,
                  std::FILE* talk);

// headway trace synth: writes the synthetic trace that the options describe, as trace_convert does.
int trace_synth(const WorkloadOptions& options, std::uint64_t seed, const std::string& path,
                const std::string& to, std::FILE* talk);

}  // namespace headway
