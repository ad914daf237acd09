#include "sim/workload/needed_facts.h"

#include <deque>
#include <optional>
#include <utility>

namespace headway {
namespace {

class NeededFact final : public RequestSource {
 public:
  NeededFact(std::unique_ptr<RequestSource> source, bool (*has_fact)(const Request&),
             InputError::Parts fault)
      : source_(std::move(source)), has_fact_(has_fact), fault_(std::move(fault)) {
    while (!seen_ && ahead_.size() < kLookAhead) {
      std::optional<Request> request = read();
      if (!request) break;
      ahead_.push_back(std::move(*request));
    }
  }

  std::optional<Request> next() override {
    if (ahead_.empty()) return read();
    std::optional<Request> request = std::move(ahead_.front());
    ahead_.pop_front();
    return request;
  }
  std::int64_t size_hint() const override { return source_->size_hint(); }

 private:
  std::optional<Request> read() {
    std::optional<Request> request = source_->next();
    if (request && !seen_) seen_ = has_fact_(*request);
    if (!request && !seen_) throw InputError(fault_);
    return request;
  }

  std::unique_ptr<RequestSource> source_;
  bool (*has_fact_)(const Request&);
  InputError::Parts fault_;
  bool seen_ = false;
  std::deque<Request> ahead_;
};

}  // namespace

std::unique_ptr<RequestSource> with_needed_fact(std::unique_ptr<RequestSource> source,
                                                bool (*has_fact)(const Request&),
                                                InputError::Parts fault) {
  return std::make_unique<NeededFact>(std::move(source), has_fact, std::move(fault));
}

}  // namespace headway
