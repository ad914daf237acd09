#include "sim/metrics/class_metrics.h"

#include <cmath>
#include <utility>

namespace headway {
namespace {

double percentile_ms(const ValueSketch& sketch, double q, double unit) {
  return sketch.count() > 0 ? sketch.percentile(q) / unit : 0.0;
}

}  // namespace

ClassMetrics::ClassMetrics(SloLimits limits, std::vector<SloClass> classes, bool by_tenant)
    : limits_(limits),
      classes_(std::move(classes)),
      by_tenant_(by_tenant),
      by_class_(classes_.size()) {}

void ClassMetrics::Counts::add(const RequestRecord& r, const SloLimits& limits) {
  ++requests;
  good += judge_slo(limits, r).all() ? 1 : 0;
  if (r.failed) return;
  ++completed;
  ttft_ns.add(ttft_of(r).ns());
  e2el_ns.add(e2el_of(r).ns());
  if (const auto tpot = tpot_ms_of(r)) tpot_ps.add(std::llround(*tpot * kPicosecondsPerMs));
}

void ClassMetrics::on_finish(const RequestRecord& r) {
  if (by_tenant_) {
    const bool known = tenants_.contains(r.tenant) || tenants_.size() < kTenants;
    (known ? tenants_[r.tenant] : others_).add(r, limits_);
  } else if (!classes_.empty()) {
    const std::size_t number = class_of(r, classes_);
    if (number < classes_.size()) {
      by_class_[number].add(r, classes_[number].limits);
    } else {
      others_.add(r, limits_);
    }
  }
}

std::vector<ClassSummary> ClassMetrics::result(double duration_s) const {
  std::vector<ClassSummary> all;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    all.push_back(summary(classes_[i].name, classes_[i].limits, by_class_[i], duration_s));
  }
  for (const auto& [tenant, counts] : tenants_) {
    all.push_back(summary("tenant " + std::to_string(tenant), limits_, counts, duration_s));
  }
  if (others_.requests > 0) all.push_back(summary("others", limits_, others_, duration_s));
  return all;
}

ClassSummary ClassMetrics::summary(const std::string& name, const SloLimits& limits,
                                   const Counts& counts, double duration_s) {
  ClassSummary s{.name = name,
                 .limits = limits,
                 .requests = counts.requests,
                 .completed = counts.completed,
                 .slo_attainment = {},
                 .request_goodput = {}};
  const auto good = static_cast<double>(counts.good);
  if (limits.any()) {
    if (counts.requests > 0) s.slo_attainment = good / static_cast<double>(counts.requests);
    s.request_goodput = duration_s > 0 ? good / duration_s : 0.0;
  }
  s.mean_ttft_ms = counts.ttft_ns.moments(kNanosecondsPerMs).mean;
  s.p99_ttft_ms = percentile_ms(counts.ttft_ns, 99, kNanosecondsPerMs);
  s.p99_tpot_ms = percentile_ms(counts.tpot_ps, 99, kPicosecondsPerMs);
  s.p99_e2el_ms = percentile_ms(counts.e2el_ns, 99, kNanosecondsPerMs);
  return s;
}

}  // namespace headway
