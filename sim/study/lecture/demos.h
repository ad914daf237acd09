#pragma once

#include "sim/study/demo.h"

namespace headway {

// The demos of the lecture, one or two a file; demo_table.cpp names each in one row.
DemoAnswer run_intensity_demo(const std::string& scenario);
DemoAnswer run_batching_demo(const std::string& scenario);
DemoAnswer run_batch_table_demo(const std::string& scenario);
DemoAnswer run_gqa_demo(const std::string& scenario);
DemoAnswer run_kv_cache_demo(const std::string& scenario);
DemoAnswer run_quantisation_demo(const std::string& scenario);
DemoAnswer run_pruning_demo(const std::string& scenario);
DemoAnswer run_speculation_demo(const std::string& scenario);
DemoAnswer run_bus_demo(const std::string& scenario);
DemoAnswer run_fragmentation_demo(const std::string& scenario);
DemoAnswer run_sharing_demo(const std::string& scenario);
DemoAnswer run_chunking_demo(const std::string& scenario);
DemoAnswer run_copies_demo(const std::string& scenario);
DemoAnswer run_diffusion_demo(const std::string& scenario);

}  // namespace headway
