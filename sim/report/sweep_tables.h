#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/study/sweep_folder.h"

namespace headway {

// What a merge found.
struct SweepMerge {
  std::vector<std::int64_t> missing;  // no file, or a damaged one
  std::vector<std::int64_t> failed;
  std::int64_t ok = 0, refused = 0;
};

// All points of a sweep's folder as two files, in plan order: a CSV with the axes and the main
// metrics, one row a point, and a JSON with the plan and every result. The same bytes however many
// processes made the points and in whatever order. A missing point has a row that says so; where
// one is missing and `partial` is false, nothing is written. A path of "" is left out.
// InputError: points of several versions of the program.
SweepMerge merge_sweep(const SweepFolder& folder, const std::string& csv_path,
                       const std::string& json_path, bool partial);

// "0-3, 7, 9-11": the first few of sorted numbers, and how many there are when that is not all.
std::string ranges_text(const std::vector<std::int64_t>& sorted);

}  // namespace headway
