#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/workload/request_source.h"

namespace headway {

// The requests of a trace file, as the options select and scale them: failed rows left out, sorted
// by arrival (ties keep the file's order), those of the first offset_s seconds left out, the first
// that is left at 0, gaps divided by rate_scale, `limit` of them, numbered from 0. think_time is
// the user's and is not scaled.
//
// The file is read twice: once to check every row and to measure how far rows are out of order,
// and then as requests are asked for, with a buffer no larger than that disorder needs. Memory does
// not grow with a trace that is in order. A pipe is held in memory instead.
//
// `path` is opened as it is. InputError: any fault of the file, or no request left.
std::unique_ptr<RequestSource> open_trace(const std::string& path, const WorkloadOptions& options,
                                          std::vector<std::string>& notes);

// The file that `trace` names: a path (relative ones start at base_folder), "-" for stdin, or an
// entry of the trace catalogue. InputError names the entry that is nearest.
std::string find_trace(const std::string& trace, const std::string& base_folder);

}  // namespace headway
