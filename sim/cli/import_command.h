#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace headway {

// The sources that `headway import` reads: aiconfigurator, llmservingsim, splitwise, vidur.
std::vector<std::string> import_formats();

// Reads published measurements at `path` and writes DIR/<gpu>/<engine-version>/ for each profile
// found; all are read before the first is written. `log` (may be null) hears what was done.
// InputError: unknown format, not that source's layout, a damaged file, an unwritable place.
void import_profiles(const std::string& format, const std::string& path, const std::string& out_dir,
                     std::FILE* log);

}  // namespace headway
