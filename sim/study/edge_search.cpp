#include "sim/study/edge_search.h"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"

namespace headway {
namespace {

class Search {
 public:
  Search(const EdgeOptions& options, const std::function<bool(double)>& holds)
      : o_(options), holds_(holds) {}

  Edge run() {
    double value = clamped(o_.start);
    const bool first = holds_(value);
    (first ? edge_.good : edge_.bad) = value;
    // To the bad side while it holds, to the good side while it does not.
    double factor = o_.first_factor;
    for (;;) {
      const double last = value;
      value = clamped(stepped(value, factor, first));
      if (value == last) return at_end(first, last);
      const bool good = holds_(value);
      (good ? edge_.good : edge_.bad) = value;
      if (good != first) break;
      factor = std::min(factor * factor, 1024.0);
    }
    bisect();
    return edge_;
  }

 private:
  double lowest() const { return o_.good_is_low ? o_.nearest : o_.farthest; }
  double highest() const { return o_.good_is_low ? o_.farthest : o_.nearest; }
  double clamped(double value) const { return std::clamp(value, lowest(), highest()); }

  double stepped(double value, double factor, bool to_bad) const {
    const bool up = to_bad == o_.good_is_low;
    if (!o_.whole) return up ? value * factor : value / factor;
    const double next = up ? std::ceil(value * factor) : std::floor(value / factor);
    return next == value ? value + (up ? 1 : -1) : next;
  }

  Edge at_end(bool held, double last) {
    edge_.kind = held ? Edge::Kind::kAlwaysMet : Edge::Kind::kNeverMet;
    (held ? edge_.bad : edge_.good) = last;
    return edge_;
  }

  bool close() const {
    const double low = std::min(edge_.good, edge_.bad), high = std::max(edge_.good, edge_.bad);
    return o_.whole ? high - low <= 1 : high <= low * (1 + o_.tolerance);
  }

  void bisect() {
    while (!close()) {
      const double middle = o_.whole ? std::floor((edge_.good + edge_.bad) / 2)
                                     : std::sqrt(edge_.good * edge_.bad);
      (holds_(middle) ? edge_.good : edge_.bad) = middle;
    }
  }

  const EdgeOptions& o_;
  const std::function<bool(double)>& holds_;
  Edge edge_;
};

}  // namespace

Edge find_edge(const EdgeOptions& options, const std::function<bool(double)>& holds) {
  SIM_CHECK(options.start > 0 && options.first_factor > 1 && options.tolerance > 0);
  return Search(options, holds).run();
}

}  // namespace headway
