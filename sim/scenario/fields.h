#pragma once

// Internal to scenario/: the tables of every block (see field.h).

#include "sim/scenario/field.h"

namespace headway {

const FieldTable<Scenario>& scenario_table();
const FieldTable<EngineOptions>& engine_table();
const FieldTable<GpuSpec>& gpu_table();  // the figures that { base, ... } may override

// The name, or { base, ... } with every figure that differs from the catalogue (names.cpp).
Json write_gpu(const Scenario& scenario);

// Blocks whose keys depend on one another.
const FieldTable<WorkloadOptions>& workload_table();
void read_workload(const Value& value, WorkloadOptions& out);
Json write_workload(const WorkloadOptions& in);
std::vector<FieldDoc> workload_docs(const std::string& path);

}  // namespace headway
