#pragma once

#include <cstdint>
#include <string>

#include "sim/kv/kv_usage.h"
#include "sim/metrics/observer.h"
#include "sim/scheduling/sequence_group.h"

namespace headway {

// How many sequences a request is served by: its samples, or the beams of its search.
std::int32_t sequences_of(const Request& request);

// The sequences of one request with several, as its replica sees them, and how their ends make the
// end of the request: it has got its first token when one of them has, has ended when all have, and
// its latency is split as that of the last to end. Samples are all output; of beams one answer is,
// the leader's, and its tokens alone are counted. A request fails when one of its sequences does.
class RequestGroup {
 public:
  explicit RequestGroup(bool beams) { sequences.beams = beams; }

  SequenceGroup sequences;

  // Folds in the record of a sequence that has ended. The last one's becomes the request's, and
  // true is returned.
  bool end(RequestRecord& record, std::int32_t sample);

 private:
  std::size_t ended_ = 0;
  RequestRecord sum_;
};

// What requests with several sequences had from sharing KV, in one run.
struct SharingStats {
  std::int64_t requests = 0, sequences = 0;  // of such requests
  std::int64_t forks = 0;                    // sequences that got another one's KV by reference
  std::int64_t drops = 0;                    // beams given up, each for one of those forks
  std::int64_t copied_blocks = 0;            // copied on write
  // Over the steps planned while such a request was in a replica, blocks of all sequences:
  std::int64_t peak_blocks = 0;           // held
  std::int64_t peak_blocks_unshared = 0;  // the same, were nothing shared (prefix caching included)
  double held_block_steps = 0, unshared_block_steps = 0;

  void sample(const KvUsage& kv);
  void add(const SharingStats& other);
  // Share of the blocks that sharing saved, over those steps: 1 - held / unshared.
  double saving() const;
};

}  // namespace headway
