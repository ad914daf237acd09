#pragma once

// Internal to scenario/: the tables of every block (see field.h).

#include "sim/scenario/field.h"

namespace headway {

const FieldTable<Scenario>& scenario_table();
const FieldTable<EngineOptions>& engine_table();
const FieldTable<SloOptions>& slo_table();
const FieldTable<AdmissionOptions>& admission_table();
FieldRow<ClusterOptions> router_options_field();
const FieldTable<GpuSpec>& gpu_table();  // the figures that { base, ... } may override

// The name, or { base, ... } with every figure that differs from the catalogue (names.cpp).
Json write_gpu(const Scenario& scenario);

// Blocks whose keys depend on one another.
const FieldTable<WorkloadOptions>& workload_table();
void read_workload(const Value& value, WorkloadOptions& out);
Json write_workload(const WorkloadOptions& in);
std::vector<FieldDoc> workload_docs(const std::string& path);
void read_cluster(const Value& value, ClusterOptions& out);
Json write_cluster(const ClusterOptions& in);
std::vector<FieldDoc> cluster_docs(const std::string& path);

// What a pool's own scenario is read from: the document with the pool's keys over it, blocks key by
// key, and without the cluster. Places are those where the keys were written.
Document pool_document(const Document& document, std::size_t pool, const PoolOptions& options);

}  // namespace headway
