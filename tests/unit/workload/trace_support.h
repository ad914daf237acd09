#pragma once

#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/workload/request_source.h"
#include "tests/support/temp_folder.h"

namespace headway::test {

struct Trace {
  std::vector<Request> requests;
  std::vector<std::string> notes;
};

inline Trace read_all(const WorkloadOptions& options, const std::string& folder = "",
                      std::uint64_t seed = 0) {
  Trace trace;
  const auto source = open_workload(options, folder, seed, trace.notes);
  while (auto r = source->next()) trace.requests.push_back(std::move(*r));
  return trace;
}

// The text as a file of that name, read with those options.
inline Trace read_text(const std::string& name, const std::string& text,
                       WorkloadOptions options = {}) {
  const TempFolder folder;
  folder.write(name, text);
  options.trace = name;
  return read_all(options, folder.path());
}

// The parts of the error that reading the text gives; the file's folder is cut from the name.
inline InputError::Parts error_of(const std::string& name, const std::string& text,
                                  WorkloadOptions options = {}) {
  const TempFolder folder;
  folder.write(name, text);
  options.trace = name;
  try {
    read_all(options, folder.path());
  } catch (const InputError& error) {
    InputError::Parts parts = error.parts();
    if (parts.file.rfind(folder.path() + "/", 0) == 0) {
      parts.file.erase(0, folder.path().size() + 1);
    }
    return parts;
  }
  return {"", "", "no error", ""};
}

}  // namespace headway::test
