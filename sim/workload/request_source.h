#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/workload/request.h"
#include "sim/workload/workload_options.h"

namespace headway {

// Requests in order of arrival, one at a time, so that memory does not grow with the trace.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  virtual std::optional<Request> next() = 0;
  // How many there will be, when known without reading them all (progress); -1 = not known.
  virtual std::int64_t size_hint() const { return -1; }
};

// Opens the trace or the generator that the options name. `base_folder` is where relative paths
// start (the scenario's folder). InputError names the file, line, column, found and expected.
// `notes` collects what the user should know (rows sorted, failed rows skipped ...).
std::unique_ptr<RequestSource> open_workload(const WorkloadOptions& options,
                                             const std::string& base_folder, std::uint64_t seed,
                                             std::vector<std::string>& notes);

}  // namespace headway
