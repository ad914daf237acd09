#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/metrics/slo_class.h"
#include "sim/metrics/value_sketch.h"

namespace headway {

// The numbers of the requests of one class (slo_class.h) or one tenant.
struct ClassSummary {
  std::string name;
  SloLimits limits;
  std::int64_t requests = 0;   // finished or rejected
  std::int64_t completed = 0;
  std::optional<double> slo_attainment;   // of all its requests; unset: no limit, or no request
  std::optional<double> request_goodput;  // per second, of the run's duration; unset: no limit
  // Of completed requests, in milliseconds; percentiles within 0.1 % (ValueSketch).
  double mean_ttft_ms = 0, p99_ttft_ms = 0, p99_tpot_ms = 0, p99_e2el_ms = 0;
};

// Counts by class; or, with by_tenant, every tenant is a class of the common limits. What belongs to no
// class, and tenants after the first kTenants, are "others". Memory: about 1 MiB a class.
class ClassMetrics final : public Observer {
 public:
  static constexpr std::size_t kTenants = 100;

  ClassMetrics(SloLimits limits, std::vector<SloClass> classes, bool by_tenant);

  bool hears_steps() const override { return false; }
  void on_finish(const RequestRecord& request) override;
  // By class in order of the classes, or by tenant; "others" last, if there are some. Empty without
  // classes. `duration_s`: what goodput is a rate over.
  std::vector<ClassSummary> result(double duration_s) const;

 private:
  struct Counts {
    std::int64_t requests = 0, completed = 0, good = 0;
    ValueSketch ttft_ns, tpot_ps, e2el_ns;
    void add(const RequestRecord& r, const SloLimits& limits);
  };
  static ClassSummary summary(const std::string& name, const SloLimits& limits, const Counts& counts,
                              double duration_s);

  SloLimits limits_;
  std::vector<SloClass> classes_;
  bool by_tenant_;
  std::vector<Counts> by_class_;
  std::map<std::int32_t, Counts> tenants_;
  Counts others_;
};

}  // namespace headway
