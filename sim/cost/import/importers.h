#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "sim/cost/profile.h"

namespace headway {

// Each reads other people's published measurements at `path` and gives profiles named
// "<gpu>/<engine-version>"; nothing is written. InputError: not that source's layout, a damaged
// file.
// The .cpp of each says what it keeps, what it leaves out and which units it converts.
// `log` (may be null) hears of every profile and of flagged outliers.
std::vector<Profile> import_aiconfigurator(const std::string& path, std::FILE* log);
std::vector<Profile> import_llmservingsim(const std::string& path, std::FILE* log);
std::vector<Profile> import_splitwise(const std::string& path, std::FILE* log);
std::vector<Profile> import_vidur(const std::string& path, std::FILE* log);

}  // namespace headway
