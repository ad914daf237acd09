#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/profiler/models.h"
#include "kernels/profiler/session.h"

namespace headway::kernels {

enum class GridSize : std::uint8_t { kQuick, kFull };

struct GridOptions {
  GridSize size = GridSize::kQuick;
  std::vector<ProfiledModel> models;
  // Calls estimated to take longer (by these peaks), or to need more memory, are left out.
  double flops = 1e15, bytes_per_s = 1e12;
  double longest_call_s = 0.05;
  double memory_bytes = 1e11;
  double probe_share = 0.05;  // of a table's points, held out; none from tables below 8 points
  std::uint64_t seed = 1;
};

// Every point of every entry: the sites that the models have (widths of products and of rows, head
// counts), or those of well-known models for operators that no model of the catalogue has (MLA,
// state spaces), times lists of lengths and batches; then the probes: random
// calls off the grid, each between points of its site, and for decode attention ragged batches.
// An entry gets only sites of its variant (head_dim), and none at all for fp16, which runs as bf16
// does. No point twice; the same for equal options.
std::vector<Point> make_grid(const std::vector<KernelEntry>& entries, const GridOptions& options);

// 16-bit floats run at one speed, and the simulator reads bf16 tables for both: fp16 variants are
// checked, and not timed.
bool timed(const KernelEntry& entry);

// The entries of that op or that name; all for "". InputError with the nearest of both.
std::vector<KernelEntry> only(const std::vector<KernelEntry>& entries, const std::string& name);

}  // namespace headway::kernels
