#include "sim/workload/accounts.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/core/errors.h"
#include "sim/workload/trace_format.h"
#include "sim/workload/trace_source.h"

namespace headway {
namespace {

bool trace_has_accounts(const std::string& path, const WorkloadOptions& options) {
  TraceText text(path);
  const TraceFormat& format = choose_trace_format(options.format, text);
  std::vector<std::string> notes;  // the run's own reading tells them
  TraceReadOptions reading;
  if (options.hash_block_size > 0) reading.hash_block_size = options.hash_block_size;
  const auto reader = format.open(std::move(text), reading, notes);
  for (TraceRow row; reader->next(row);) {
    if (row.failed) continue;
    if (row.request.tenant != 0 || row.request.priority != 0) return true;
  }
  return false;
}

}  // namespace

bool has_accounts(const WorkloadOptions& options, const std::string& base_folder) {
  if (!options.synth.empty()) return true;
  if (options.generated()) return !options.tenants.empty();
  try {
    const std::string path = find_trace(options.trace, base_folder);
    std::error_code ec;
    if (!std::filesystem::is_regular_file(path, ec)) return true;
    return trace_has_accounts(path, options);
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace headway
