#pragma once

#include <cstdint>
#include <string>

#include "sim/core/dtype.h"

namespace headway {

// One accelerator, from its data sheet. Dense (not sparse) tensor peaks.
struct GpuSpec {
  std::string name;               // catalogue name: "h100-sxm"
  std::string full_name;          // "NVIDIA H100 SXM5 80GB"
  std::string source;             // data sheet, date
  std::int64_t memory_bytes = 0;  // as CUDA reports it to an engine, where known
  std::string memory_source;
  double memory_bandwidth = 0;  // bytes per second
  double flops_bf16 = 0;        // FLOP per second, bf16/fp16 tensor core, fp32 accumulate
  double flops_fp8 = 0;         // 0 = none
  double ops_int8 = 0;
  double flops_fp4 = 0;       // 0 = none
  double flops_fp32 = 0;      // CUDA cores
  double link_bandwidth = 0;  // bytes per second to a peer GPU in the node, one direction
  double link_latency_us = 0;
  double host_link_bandwidth = 0;  // PCIe, one direction
  double power_watts = 0;          // board limit
  double price_per_hour = 0;       // USD for one GPU; a list price, meant to be overridden
  std::string price_source;
  std::int32_t gpus_per_node = 8;

  // The peak that products with these operands run at, in operations per second. Mixed operands run
  // at the wider one's rate; a format without tensor cores here, and 4-bit integers beside 16-bit
  // activations, are widened first.
  double flops(DType weights, DType activations) const;
  // The format that those products run in.
  DType computes_in(DType weights, DType activations) const;
};

}  // namespace headway
