#include "sim/workload/synth.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "sim/core/suggest.h"
#include "sim/workload/trace_source.h"

namespace headway {
namespace {

constexpr double kDayS = 86'400;
constexpr double kHourS = 3'600;
constexpr int kWeekHours = 7 * 24;
constexpr double kWeekRequests = 44e6;
constexpr double kPi = 3.14159265358979323846;

struct Service {
  double valley, sharpness, weekend, share;
};
constexpr Service kConversation{0.42, 1.0, 0.75, 0.62};
constexpr Service kCoding{0.10, 1.5, 0.33, 0.38};
constexpr double kBusiestHour = 15;

// Relative rates at full hours, scaled so that a week has the service's share.
std::vector<double> hourly_rates(const Service& service) {
  std::vector<double> rates;
  double sum = 0;
  for (int hour = 0; hour < kWeekHours; ++hour) {
    const int day = hour / 24;  // 0 = Friday
    const double swing = 0.5 * (1 + std::cos(2 * kPi * (hour % 24 - kBusiestHour) / 24));
    const double daily =
        service.valley + (1 - service.valley) * std::pow(swing, service.sharpness);
    rates.push_back((day == 1 || day == 2 ? service.weekend : 1.0) * daily);
    sum += rates.back();
  }
  for (double& rate : rates) rate *= service.share * kWeekHours / sum;
  return rates;
}

std::vector<double> total_rates() {
  std::vector<double> total = hourly_rates(kConversation);
  const std::vector<double> coding = hourly_rates(kCoding);
  for (std::size_t i = 0; i < total.size(); ++i) total[i] += coding[i];
  return total;
}

struct Lengths {
  std::int32_t prompt_tokens, output_tokens;
};

// Whole rows of a trace, drawn with equal chance.
class RowSampler {
 public:
  RowSampler(const std::string& trace, const char* stream, std::uint64_t seed)
      : stream_(seed, stream) {
    WorkloadOptions options;
    options.trace = trace;
    std::vector<std::string> notes;
    const auto source = open_trace(find_trace(trace, ""), options, notes);
    while (const auto r = source->next()) rows_.push_back({r->prompt_tokens, r->output_tokens});
  }
  const Lengths& draw() {
    const auto last = static_cast<std::int64_t>(rows_.size()) - 1;
    return rows_[static_cast<std::size_t>(stream_.uniform_int(0, last))];
  }

 private:
  std::vector<Lengths> rows_;
  RandomStream stream_;
};

class SynthSource final : public RequestSource {
 public:
  SynthSource(const WorkloadOptions& options, std::uint64_t seed)
      : drawn_(options.num_prompts),
        taken_(options.limit > 0 ? std::min(options.limit, drawn_) : drawn_),
        rate_scale_(options.rate_scale),
        volume_(azure_week_total().volume(options.days * kDayS)),
        arrivals_(seed, "synth.arrivals"),
        service_(seed, "synth.service"),
        conversation_("azure-2023-conv", "synth.conversation", seed),
        coding_("azure-2023-code", "synth.coding", seed) {}

  std::optional<Request> next() override {
    if (next_id_ == taken_) return std::nullopt;
    // The least of the n uniforms that are left lies 1 - V^(1/n) of the way to 1.
    log_left_ -= arrivals_.exponential(1.0) / static_cast<double>(drawn_ - next_id_);
    const double time_s = azure_week_total().time_of(-std::expm1(log_left_) * volume_);
    const double coding_share = azure_week_coding().rate(time_s) / azure_week_total().rate(time_s);
    const bool coding = service_.uniform() < coding_share;
    const Lengths& lengths = (coding ? coding_ : conversation_).draw();
    Request r;
    r.id = static_cast<std::uint64_t>(next_id_++);
    last_ = std::max(last_, SimTime::from_ns(std::llround(time_s / rate_scale_ * 1e6) * 1000));
    r.arrival = last_;
    r.prompt_tokens = lengths.prompt_tokens;
    r.output_tokens = lengths.output_tokens;
    r.tenant = coding ? 1 : 0;
    return r;
  }
  std::int64_t size_hint() const override { return taken_; }

 private:
  std::int64_t drawn_, taken_;
  double rate_scale_;
  double volume_;  // of the whole span, relative units
  RandomStream arrivals_, service_;
  RowSampler conversation_, coding_;
  std::int64_t next_id_ = 0;
  double log_left_ = 0;  // log of the share of the volume that is still to come
  SimTime last_;
};

void check_synth_options(const WorkloadOptions& o) {
  const auto fail = [](const char* key, const std::string& found, const std::string& expected) {
    throw InputError({"", std::string("workload.") + key, found, expected});
  };
  if (o.synth != "azure-week") {
    fail("synth", "\"" + o.synth + "\"", one_of(o.synth, {"azure-week"}));
  }
  if (o.num_prompts < 1) {
    fail("num_prompts", std::to_string(o.num_prompts), "at least one request");
  }
  if (o.limit < 0) fail("limit", std::to_string(o.limit), "0 (all) or more requests");
  if (!(o.days > 0 && o.days <= 3660)) {
    fail("days", std::to_string(o.days), "above 0 and at most 3660 days");
  }
  if (!(o.rate_scale > 0 && o.days * kDayS / o.rate_scale <= 4e9)) {
    fail("rate_scale", std::to_string(o.rate_scale),
         "a number above 0 that keeps the last arrival below 4e9 s");
  }
}

}  // namespace

const RateCurve& azure_week_total() {
  static const RateCurve curve(total_rates(), kHourS);
  return curve;
}

const RateCurve& azure_week_coding() {
  static const RateCurve curve(hourly_rates(kCoding), kHourS);
  return curve;
}

std::int64_t default_synth_requests(double days) {
  return std::max<std::int64_t>(1, std::llround(kWeekRequests * days / 7));
}

std::unique_ptr<RequestSource> open_synth(const WorkloadOptions& options, std::uint64_t seed) {
  check_synth_options(options);
  return std::make_unique<SynthSource>(options, seed);
}

}  // namespace headway
