#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/cpu_ops.h"
#include "kernels/registry.h"

namespace headway::kernels::cpu {

// Each operator against its double reference, over odd sizes, ragged lengths, permuted pages, one
// token and no token. For the profiler, which times nothing that fails, and for the unit tests,
// which run them over every instruction set that the machine has.
std::vector<CheckResult> check_matmul(const CpuOps& ops);
std::vector<CheckResult> check_openblas();
std::vector<CheckResult> check_rmsnorm(const CpuOps& ops, bool residual);
std::vector<CheckResult> check_rope(const CpuOps& ops);
std::vector<CheckResult> check_silu_mul(const CpuOps& ops);
std::vector<CheckResult> check_embed(const CpuOps& ops);
std::vector<CheckResult> check_argmax(const CpuOps& ops);
std::vector<CheckResult> check_sampling();  // frequencies against probabilities
// Prompts, chunks behind a history, and decode batches; writes the pages with kv_write.
std::vector<CheckResult> check_attention(const CpuOps& ops, std::int32_t head_dim);
std::vector<CheckResult> check_kv_write(const CpuOps& ops);

}  // namespace headway::kernels::cpu
