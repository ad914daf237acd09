#include "sim/cli/run_exports.h"

#include "sim/core/errors.h"
#include "sim/core/number_text.h"

namespace headway {
namespace {

void require(const std::string& flag, bool given, const std::string& path, const char* other) {
  if (given && path.empty()) {
    throw InputError({"command line", flag, "it without " + std::string(other),
                      std::string(other) + " FILE beside it"});
  }
}

}  // namespace

void RunExports::declare(Arguments& arguments) {
  arguments.text("--timeline", "FILE.json[.gz]", timeline_path_,
                 "Write steps and requests as a Chrome trace, for ui.perfetto.dev");
  arguments.text("--timeline-window", "T0:T1", window_,
                 "Of the timeline, only what touches these simulated seconds");
  arguments.real("--timeline-sample", "SHARE", sample_,
                 "Of the timeline, only this share of the requests and of the steps");
  arguments.text("--openmetrics", "FILE", metrics_path_,
                 "Write what Prometheus would have scraped, under vLLM's names, at simulated times");
  arguments.real("--openmetrics-interval", "SECONDS", interval_s_,
                 "Between two samples (default: such that the file stays some ten megabytes)");
}

void RunExports::open(const Scenario& scenario, Outputs& outputs,
                      std::vector<Observer*>& observers) {
  require("--timeline-window", !window_.empty(), timeline_path_, "--timeline");
  require("--timeline-sample", sample_.has_value(), timeline_path_, "--timeline");
  require("--openmetrics-interval", interval_s_.has_value(), metrics_path_, "--openmetrics");
  if (sample_ && !(*sample_ > 0 && *sample_ <= 1)) {
    throw InputError({"command line", "--timeline-sample", significant(*sample_, 6),
                      "a share above 0 and at most 1"});
  }
  if (interval_s_ && !(*interval_s_ >= 1e-3)) {
    throw InputError({"command line", "--openmetrics-interval", significant(*interval_s_, 6),
                      "at least 0.001 seconds"});
  }
  outputs.claim("--timeline", timeline_path_);
  outputs.claim("--openmetrics", metrics_path_);
  if (!timeline_path_.empty()) {
    const TimelineOptions options =
        parse_timeline_options(window_, "--timeline-window", sample_.value_or(1));
    timeline_ = std::make_unique<Timeline>(timeline_path_, options);
    observers.push_back(timeline_.get());
  }
  if (!metrics_path_.empty()) {
    metrics_ = std::make_unique<OpenMetrics>(
        metrics_path_, OpenMetricsOptions{scenario.model_name, scenario.engine.max_model_len,
                                          scenario.engine.block_size, interval_s_});
    observers.push_back(metrics_.get());
  }
}

std::string RunExports::check() const {
  if (!timeline_) return "";
  timeline_->check_window("--timeline-window");
  return timeline_->note();
}

void RunExports::commit(Outputs& outputs) {
  if (timeline_) outputs.commit(timeline_path_, *timeline_);
  if (metrics_) outputs.commit(metrics_path_, *metrics_);
}

}  // namespace headway
