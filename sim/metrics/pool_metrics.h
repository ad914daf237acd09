#pragma once

#include <cstdint>
#include <vector>

#include "sim/metrics/observer.h"
#include "sim/metrics/utilisation.h"

namespace headway {

struct PoolSummary {
  std::int64_t completed = 0, failed = 0;  // requests that left its replicas
  UtilisationSummary engine;
};

// What each pool of a fleet did. Engines are numbered through the pools.
class PoolMetrics final : public Observer {
 public:
  explicit PoolMetrics(const std::vector<std::uint32_t>& engines_of_pools);

  void on_step(const StepRecord& step) override;
  void on_decode_run(const DecodeRunRecord& run) override;
  void on_finish(const RequestRecord& request) override;

  // `span` is the time from first arrival to last finish.
  std::vector<PoolSummary> result(SimTime span) const;

 private:
  struct Pool {
    Utilisation utilisation;
    std::int64_t completed = 0, failed = 0;
  };
  Pool& of(std::uint32_t engine) { return pools_[pool_of_[engine]]; }

  std::vector<Pool> pools_;
  std::vector<std::uint32_t> pool_of_;  // by engine
};

}  // namespace headway
