#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "tests/support/catch.h"

using namespace headway::kernels;

namespace {

// A small call of every op, along its axes (profile_axes).
const std::map<std::string, std::vector<std::int64_t>>& small_keys() {
  static const std::map<std::string, std::vector<std::int64_t>> keys{
      {"gemm", {32, 256, 5}},
      {"rmsnorm", {256, 3}},
      {"rope", {4, 2, 3}},
      {"silu_mul", {256, 3}},
      {"kv_write", {2, 5}},
      {"embedding", {256, 3}},
      {"sampling", {1000, 2}},
      {"rejection_verify", {1000, 2, 3}},
      {"attn_decode", {8, 2, 2, 40}},
      {"attn_prefill", {4, 2, 1, 40}},
      {"attn_prefill_past", {4, 2, 1, 20, 20}},
      {"mla_decode", {16, 1, 40}},
      {"ssm_update", {8, 16, 128, 2}},
      {"gdn_update", {2, 128, 64, 2}},
  };
  return keys;
}

}  // namespace

TEST_CASE("Every GPU kernel can be prepared and run on each of its copies", "[unit][kernels]") {
  int prepared = 0;
  for (const KernelEntry& entry : gpu_kernels()) {
    std::string variant;
    for (const auto& [key, value] : entry.variant) variant += " " + key + " " + value;
    INFO(entry.name << ", " << entry.op << variant);
    const auto found = small_keys().find(entry.op);
    REQUIRE(found != small_keys().end());
    const Case call{found->second, {}};
    if (entry.supports && !entry.supports(call)) continue;
    const Work work = entry.work(call);
    CHECK(work.flops >= 0);
    CHECK(work.bytes > 0);
    CHECK(work.rotated_bytes + work.shared_bytes > 0);
    const auto ready = entry.prepare(call, 2, 5);
    for (const int copy : {0, 1, 0}) ready->launch(copy, {});
    ++prepared;
  }
  CHECK(prepared >= 10);
}
