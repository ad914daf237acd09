#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headway {

// How requests are split over pools that compute prompts and pools that decode (cluster.disaggregation
// and cluster.transfer; cluster/disaggregation.h).
struct TransferOptions {
  std::string rule;                      // "" = a request stays in one replica; distserve | splitwise
  std::string link = "infiniband-ndr";   // a row of kv_links(); "" = the two figures below
  double bandwidth = 0;                  // bytes per second
  double latency_us = 0;
  bool per_gpu = true;                   // each GPU has such a link; false: each replica
  std::string overlap = "none";          // none | layers: sent while later layers are computed
  std::int64_t lend_above_tokens = 8192; // splitwise: prompt tokens at a replica beyond which prompts
                                         // go to those that decode
};

inline std::vector<std::string> disaggregation_rules() { return {"", "distserve", "splitwise"}; }

}  // namespace headway
