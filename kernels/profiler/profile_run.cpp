#include "kernels/profiler/profile_run.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "kernels/profiler/closure.h"
#include "kernels/profiler/statistics.h"
#include "kernels/profiler/tables.h"
#include "sim/core/build_info.h"
#include "sim/core/errors.h"

namespace headway::kernels {
namespace {

using Json = nlohmann::ordered_json;

// Of the budget, kept for what comes after the grid.
constexpr double kClosureShare = 0.08, kLongestClosure_s = 15;
constexpr double kNoisyFactor = 2;  // times the target: a row's interval counts as noisy
constexpr double kSustained_s = 2;
constexpr int kSustainedProducts = 3;

std::string version_only() {
  const std::string version = program_version();
  return version.substr(0, version.find('+'));
}

std::string commit_only() {
  const std::string version = program_version();
  const std::size_t plus = version.find('+');
  return plus == std::string::npos ? "unknown" : version.substr(plus + 1);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// One run of the profiler, from checks to profile.
class Run {
 public:
  Run(Backend& backend, const std::vector<KernelEntry>& entries, const ProfileRequest& request)
      : backend_(backend), request_(request), begin_s_(backend.now_s()), all_(entries) {}

  ProfileOutcome result() {
    check();
    if (!stopped()) overheads();
    measure_grid();
    const Session& session = *session_;
    Profile& p = outcome_.profile;
    p.name = backend_.device().gpu + "/headway-" + version_only();
    p.gpu = backend_.device().gpu;
    p.host.source = "not measured: a profile of kernels";
    p.run_sigma = session.run_sigma();
    p.tables = make_tables(session, backend_.method(), kNoisyFactor * request_.rule.target);
    if (session.complete() && !stopped()) closure();
    if (session.complete() && !stopped() && request_.sustained) sustained();
    p.incomplete = what_is_missing();
    p.provenance_json = provenance().dump();
    p.session_json = session_record().dump();
    rows();
    return std::move(outcome_);
  }

 private:
  bool stopped() const { return request_.stop != nullptr && request_.stop->load(); }
  double deadline_s() const { return begin_s_ + request_.budget_s; }
  void say(const std::string& text) const {
    if (request_.say) request_.say(text);
  }

  // The gate: an entry is timed only when it computes what its reference does.
  void check() {
    for (const KernelEntry& entry : all_) {
      if (stopped()) return;
      say("check " + entry.name);
      if (passes(entry)) entries_.push_back(entry);
    }
  }

  bool passes(const KernelEntry& entry) {
    if (!entry.check) return true;
    try {
      const std::vector<CheckResult> results = entry.check();
      for (const CheckResult& result : results) {
        if (!result.ok()) {
          outcome_.failed.push_back(
              {entry.name, result.what + ": error " + std::to_string(result.error) +
                               " above " + std::to_string(result.tolerance)});
          return false;
        }
        worst_share_ = std::max(worst_share_, result.error / result.tolerance);
      }
      checks_ += results.size();
    } catch (const std::exception& error) {
      outcome_.failed.push_back({entry.name, error.what()});
      return false;
    }
    return true;
  }

  void overheads() {
    say("overheads");
    outcome_.profile.overheads = backend_.overheads();
  }

  void measure_grid() {
    std::vector<Point> points = planned_points(backend_.device(), entries_, request_);
    SessionOptions options;
    options.rule = request_.rule;
    options.seed = request_.seed;
    options.stop = request_.stop;
    options.progress = [this](std::size_t done, std::size_t all, int pass, const Point& point) {
      const int left = static_cast<int>(std::max(0.0, deadline_s() - backend_.now_s()));
      say("pass " + std::to_string(pass) + ": " + std::to_string(done) + " of " +
          std::to_string(all) + " points, at most " + std::to_string(left) + " s left, " +
          point.entry->op);
    };
    Point sentinel = sentinel_of(points);
    session_ = std::make_unique<Session>(backend_, std::move(points), sentinel, options);
    const double closure_s =
        std::min(kClosureShare * request_.budget_s, kLongestClosure_s) +
        (request_.sustained ? kSustainedProducts * kSustained_s : 0);
    session_->run(std::max(0.0, deadline_s() - closure_s - backend_.now_s()));
  }

  // The product nearest to the middle of the grid's products, by the time it should take.
  static Point sentinel_of(const std::vector<Point>& points) {
    std::vector<const Point*> products;
    for (const Point& point : points) {
      if (point.entry->op == "gemm" && !point.probe) products.push_back(&point);
    }
    if (products.empty()) return {};
    const auto middle = products.begin() + static_cast<std::ptrdiff_t>(products.size() / 2);
    std::nth_element(products.begin(), middle, products.end(), [](const Point* a, const Point* b) {
      return a->entry->work(a->call).flops < b->entry->work(b->call).flops;
    });
    return **middle;
  }

  Deadline deadline() const { return {deadline_s(), request_.stop}; }

  void closure() {
    for (const ProfiledModel& model : request_.models) {
      const std::vector<Whole> wholes = closure_wholes(entries_, model);
      say("closure " + model.label);
      const std::vector<Closure> some = measure_closure(
          backend_, wholes, outcome_.profile.tables, request_.rule, deadline());
      outcome_.profile.closure.insert(outcome_.profile.closure.end(), some.begin(), some.end());
    }
  }

  // Bursts are optimistic where the board's power is capped: the largest products for two seconds.
  void sustained() {
    std::vector<std::size_t> products;
    for (std::size_t i = 0; i < session_->points().size(); ++i) {
      const Point& point = session_->points()[i];
      const bool measured = session_->measured()[i].visits() > 0;
      if (measured && !point.probe && point.entry->op == "gemm") products.push_back(i);
    }
    const auto flops = [&](std::size_t i) {
      const Point& point = session_->points()[i];
      return point.entry->work(point.call).flops;
    };
    std::sort(products.begin(), products.end(),
              [&](std::size_t a, std::size_t b) { return flops(a) > flops(b); });
    products.resize(std::min<std::size_t>(products.size(), kSustainedProducts));
    StoppingRule rule = request_.rule;
    rule.target = 0;  // only the cap ends it
    rule.max_samples = 1 << 20;
    rule.cap_s = kSustained_s;
    for (const std::size_t i : products) {
      if (stopped() || backend_.now_s() + kSustained_s > deadline_s()) return;
      const Point& point = session_->points()[i];
      say("sustained " + point.entry->name);
      const auto timer = backend_.prepare(single(*point.entry, point.call), request_.seed);
      const Visit visit = measure(*timer, [&] { return backend_.now_s(); }, rule, deadline());
      if (visit.us.size() < 4) continue;
      const auto half = visit.us.begin() + static_cast<std::ptrdiff_t>(visit.us.size() / 2);
      sustained_.push_back({{"kernel", point.entry->name},
                            {"key", point.call.key},
                            {"burst_us", session_->measured()[i].estimate().us},
                            {"sustained_us", median({half, visit.us.end()})}});
    }
  }

  std::string what_is_missing() const {
    if (session_->complete() && !stopped()) return "";
    return std::string(stopped() ? "interrupted" : "out of time") + " after " +
           std::to_string(session_->visited()) + " of " + std::to_string(session_->fitting()) +
           " points";
  }

  Json provenance() const {
    const Device& d = backend_.device();
    Json models = Json::array();
    for (const ProfiledModel& model : request_.models) models.push_back(model.label);
    Json facts = Json::object();
    for (const auto& [key, value] : d.facts) facts[key] = value;
    const std::size_t probes = static_cast<std::size_t>(
        std::count_if(session_->points().begin(), session_->points().end(),
                      [](const Point& point) { return point.probe; }));
    return {{"source", "headway profile on the machine itself"},
            {"commit", commit_only()},
            {"licence", "Apache-2.0"},
            {"attribution", "the Headway authors"},
            {"device", d.name},
            {"device_kind", d.kind},
            {"device_facts", facts},
            {"engine", "headway"},
            {"engine_version", program_version()},
            {"date", utc_now()},
            {"clocks", "as found"},
            {"data", "normal random values"},
            {"method", backend_.method()},
            {"measured_by", "headway profile"},
            {"models", models},
            {"grid", request_.grid == GridSize::kQuick ? "quick" : "full"},
            {"command", request_.command_line},
            {"seed", request_.seed},
            {"kept", "every point of the grid; " + std::to_string(probes) + " probes held out"}};
  }

  Json session_record() const {
    std::int64_t rejected = 0, contended = 0, throttled = 0, samples = 0;
    for (const Measured& m : session_->measured()) {
      rejected += m.rejected;
      contended += m.contended;
      throttled += m.throttled;
      samples += static_cast<std::int64_t>(m.us.size());
    }
    Json sentinels = Json::array();
    for (const SentinelRow& row : session_->sentinels()) {
      sentinels.push_back({row.at_s, row.us, row.copy_us, row.clock_mhz});
    }
    const HoldOut ragged = ragged_holdout(*session_, outcome_.profile.tables);
    Json refused = Json::array();
    for (std::size_t i = 0; i < session_->points().size(); ++i) {
      const Measured& m = session_->measured()[i];
      if (m.failure.empty()) continue;
      const Point& point = session_->points()[i];
      refused.push_back(
          {{"kernel", point.entry->name}, {"key", point.call.key}, {"error", m.failure}});
    }
    Json failed = Json::array();
    for (const FailedCheck& f : outcome_.failed) failed.push_back(f.kernel + ": " + f.what);
    Json record = {{"points", session_->points().size()},
                   {"visited", session_->visited()},
                   {"left_out", session_->points().size() - session_->fitting()},
                   {"passes", session_->passes()},
                   {"budget_s", request_.budget_s},
                   {"elapsed_s", backend_.now_s() - begin_s_},
                   {"samples", samples},
                   {"samples_rejected", rejected},
                   {"points_contended", contended},
                   {"points_throttled", throttled},
                   {"checks", checks_},
                   {"checks_failed", failed},
                   {"worst_error_of_tolerance", worst_share_},
                   {"target_relative_interval", request_.rule.target},
                   {"sentinel_columns", {"at_s", "gemm_us", "copy_us", "clock_mhz"}},
                   {"sentinels", sentinels}};
    if (ragged.points > 0) {
      record["ragged_batches"] = {{"points", ragged.points},
                                  {"err_median", ragged.err_median},
                                  {"err_p90", ragged.err_p90},
                                  {"bias", ragged.bias}};
    }
    if (!refused.empty()) record["points_refused"] = refused;
    if (!sustained_.empty()) record["sustained"] = sustained_;
    if (const auto log = backend_.log_rows(); !log.empty()) {
      record["device_log_columns"] = backend_.log_columns();
      record["device_log"] = log;
    }
    return record;
  }

  void rows() {
    for (std::size_t i = 0; i < session_->points().size(); ++i) {
      const Point& point = session_->points()[i];
      const Measured& m = session_->measured()[i];
      if (!m.failure.empty()) outcome_.refused.push_back(point.entry->name + ": " + m.failure);
      if (m.visits() == 0) continue;
      MeasuredRow row{point.entry->op, point.entry->impl, point.entry->variant, point.call.key,
                      point.probe,     !point.call.lengths.empty()};
      row.time = m.estimate();
      row.samples = static_cast<int>(m.us.size());
      row.visits = m.visits();
      row.clock_mhz = m.clock_mhz;
      const Work work = point.entry->work(point.call);
      row.flops_per_s = work.flops / row.time.us * 1e6;
      row.bytes_per_s = work.bytes / row.time.us * 1e6;
      outcome_.rows.push_back(std::move(row));
    }
  }

  Backend& backend_;
  const ProfileRequest& request_;
  double begin_s_;
  const std::vector<KernelEntry>& all_;
  std::vector<KernelEntry> entries_;  // those that pass; points refer to them
  std::unique_ptr<Session> session_;
  std::size_t checks_ = 0;
  double worst_share_ = 0;
  Json sustained_ = Json::array();
  ProfileOutcome outcome_;
};

}  // namespace

std::vector<Point> planned_points(const Device& device, const std::vector<KernelEntry>& entries,
                                  const ProfileRequest& request) {
  GridOptions options;
  options.size = request.grid;
  options.models = request.models;
  options.flops = device.flops;
  options.bytes_per_s = device.bytes_per_s;
  options.memory_bytes = device.memory_bytes;
  if (request.largest_call_bytes > 0) {
    options.memory_bytes = std::min(options.memory_bytes, request.largest_call_bytes);
  }
  options.longest_call_s = request.longest_call_s;
  options.seed = request.seed;
  return make_grid(entries, options);
}

ProfileOutcome run_profile(Backend& backend, const std::vector<KernelEntry>& entries,
                           const ProfileRequest& request) {
  return Run(backend, entries, request).result();
}

}  // namespace headway::kernels
