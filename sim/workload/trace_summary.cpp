#include "sim/workload/trace_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

#include "sim/core/hash.h"

namespace headway {
namespace {

class LengthCounts {
 public:
  void add(std::int64_t length) {
    ++counts_[length];
    ++n_;
    total_ += length;
  }
  LengthSummary summary() const {
    LengthSummary s;
    if (n_ == 0) return s;
    s.total = total_;
    s.mean = static_cast<double>(total_) / static_cast<double>(n_);
    s.min = counts_.begin()->first;
    s.max = counts_.rbegin()->first;
    s.p50 = percentile(0.50);
    s.p90 = percentile(0.90);
    s.p99 = percentile(0.99);
    return s;
  }

 private:
  double order_statistic(std::int64_t rank) const {
    std::int64_t below = 0;
    for (const auto& [length, count] : counts_) {
      below += count;
      if (rank < below) return static_cast<double>(length);
    }
    return static_cast<double>(counts_.rbegin()->first);
  }
  double percentile(double p) const {
    const double at = p * static_cast<double>(n_ - 1);
    const double low = std::floor(at);
    const double a = order_statistic(static_cast<std::int64_t>(low));
    const double b = order_statistic(std::min(static_cast<std::int64_t>(low) + 1, n_ - 1));
    return a + (at - low) * (b - a);
  }

  std::map<std::int64_t, std::int64_t> counts_;
  std::int64_t n_ = 0;
  std::int64_t total_ = 0;
};

// Welford's running mean and variance.
class Gaps {
 public:
  void add(double x) {
    ++n_;
    const double step = x - mean_;
    mean_ += step / n_;
    squares_ += step * (x - mean_);
  }
  double cv() const { return n_ > 0 && mean_ > 0 ? std::sqrt(squares_ / n_) / mean_ : 0; }

 private:
  double n_ = 0, mean_ = 0, squares_ = 0;
};

// Blocks are known by all that stands before them, so that ids need not encode it.
class PrefixHits {
 public:
  void add(const Request& r) {
    total_tokens_ += r.prompt_tokens;
    total_blocks_ += static_cast<std::int64_t>(r.content_ids.size());
    std::int64_t hits = 0;
    bool unbroken = true;
    auto chain = static_cast<std::uint64_t>(r.content_granularity);
    for (const std::uint64_t id : r.content_ids) {
      chain = combine64(chain, id);
      const bool known = !seen_.insert(chain).second;
      unbroken = unbroken && known;
      if (unbroken) ++hits;
    }
    blocks_ += hits;
    tokens_ += std::min<std::int64_t>(hits * r.content_granularity, r.prompt_tokens);
  }
  void report(TraceSummary& summary) const {
    if (total_blocks_ == 0) return;
    summary.prefix_hit_blocks = static_cast<double>(blocks_) / static_cast<double>(total_blocks_);
    summary.prefix_hit_tokens = static_cast<double>(tokens_) / static_cast<double>(total_tokens_);
  }

 private:
  std::unordered_set<std::uint64_t> seen_;
  std::int64_t blocks_ = 0, tokens_ = 0, total_blocks_ = 0, total_tokens_ = 0;
};

}  // namespace

TraceSummary summarise(RequestSource& source) {
  TraceSummary summary;
  LengthCounts input, output;
  Gaps gaps;
  PrefixHits hits;
  std::unordered_set<std::int64_t> sessions;
  SimTime first, last;
  while (const auto r = source.next()) {
    if (summary.requests == 0) {
      first = r->arrival;
    } else {
      gaps.add((r->arrival - last).seconds());
    }
    last = r->arrival;
    ++summary.requests;
    input.add(r->prompt_tokens);
    output.add(r->output_tokens);
    hits.add(*r);
    if (r->session_id >= 0) sessions.insert(r->session_id);
  }
  summary.span_s = (last - first).seconds();
  if (summary.span_s > 0) summary.rate = static_cast<double>(summary.requests - 1) / summary.span_s;
  summary.gap_cv = gaps.cv();
  summary.input = input.summary();
  summary.output = output.summary();
  summary.sessions = static_cast<std::int64_t>(sessions.size());
  hits.report(summary);
  return summary;
}

}  // namespace headway
