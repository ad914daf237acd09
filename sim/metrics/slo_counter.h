#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/metrics/slo_class.h"

namespace headway {

// Counts who met what. Failed requests are in the denominator of attainment: they were asked for.
class SloCounter final : public Observer {
 public:
  explicit SloCounter(SloLimits limits, std::vector<SloClass> classes = {})
      : limits_(limits), classes_(std::move(classes)), limited_(limits) {
    for (const SloClass& c : classes_) {
      if (!limited_.ttft_ms) limited_.ttft_ms = c.limits.ttft_ms;
      if (!limited_.tpot_ms) limited_.tpot_ms = c.limits.tpot_ms;
      if (!limited_.e2el_ms) limited_.e2el_ms = c.limits.e2el_ms;
    }
  }

  bool hears_steps() const override { return false; }
  void on_finish(const RequestRecord& r) override {
    const SloOutcome outcome = judge_slo(limits_of(r, limits_, classes_), r);
    ++seen_;
    good_ += outcome.all() ? 1 : 0;
    ttft_ += outcome.ttft ? 1 : 0;
    tpot_ += outcome.tpot ? 1 : 0;
    e2el_ += outcome.e2el ? 1 : 0;
  }

  const SloLimits& limits() const { return limits_; }  // of requests of no class
  bool any() const { return limited_.any(); }           // someone has a limit
  std::int64_t good() const { return good_; }
  // Share of all requests, failed ones included; unset where nobody has that limit (or nobody came).
  std::optional<double> attainment() const { return share(any(), good_); }
  std::optional<double> ttft_attainment() const {
    return share(limited_.ttft_ms.has_value(), ttft_);
  }
  std::optional<double> tpot_attainment() const {
    return share(limited_.tpot_ms.has_value(), tpot_);
  }
  std::optional<double> e2el_attainment() const {
    return share(limited_.e2el_ms.has_value(), e2el_);
  }

 private:
  std::optional<double> share(bool wanted, std::int64_t met) const {
    if (!wanted || seen_ == 0) return std::nullopt;
    return static_cast<double>(met) / static_cast<double>(seen_);
  }

  SloLimits limits_;
  std::vector<SloClass> classes_;
  SloLimits limited_;  // set where anyone has such a limit
  std::int64_t seen_ = 0, good_ = 0, ttft_ = 0, tpot_ = 0, e2el_ = 0;
};

}  // namespace headway
