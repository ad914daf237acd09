#include "sim/workload/generator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "sim/workload/arrivals.h"
#include "sim/workload/lengths.h"
#include "sim/workload/synth.h"
#include "sim/workload/trace_fields.h"
#include "sim/workload/trace_source.h"

namespace headway {
namespace {

[[noreturn]] void fail(const char* key, const std::string& found, const std::string& expected) {
  throw InputError({"", std::string("workload.") + key, found, expected});
}

std::unique_ptr<LengthSampler> sampler(const LengthOptions& options, const std::string& name,
                                       LengthColumn column, const std::string& base_folder,
                                       std::uint64_t seed) {
  return make_length_sampler(options, {"workload." + name, base_folder, name, column, seed});
}

// A closed loop needs no rate: without one, everything is due at once and the limit paces it.
double effective_rate(const WorkloadOptions& o) {
  if (o.request_rate == 0 && o.max_concurrency > 0) return std::numeric_limits<double>::infinity();
  return o.request_rate;
}

void check_generator_options(const WorkloadOptions& o) {
  if (o.num_prompts < 1) {
    fail("num_prompts", std::to_string(o.num_prompts), "at least one request");
  }
  if (!(effective_rate(o) > 0)) {
    fail("request_rate", std::to_string(o.request_rate),
         "requests per second above 0, \"inf\" for all at once, or a max_concurrency");
  }
  if (!(o.burstiness > 0)) fail("burstiness", std::to_string(o.burstiness), "a number above 0");
  if (static_cast<double>(o.num_prompts) / effective_rate(o) > 1e9) {
    fail("request_rate", std::to_string(o.request_rate),
         "a rate at which the last request comes within 1e9 s");
  }
}

ArrivalProcess arrivals_of(const WorkloadOptions& o, std::int64_t count, std::uint64_t seed) {
  const double rate = effective_rate(o);
  const double stretch = o.rescale_arrivals && std::isfinite(rate)
                             ? rescale_factor(rate, o.burstiness, seed, count)
                             : 1.0;
  return ArrivalProcess(rate, o.burstiness, seed, stretch);
}

class SingleTurns final : public RequestSource {
 public:
  SingleTurns(const WorkloadOptions& o, const std::string& base_folder, std::uint64_t seed)
      : count_(o.num_prompts),
        arrivals_(arrivals_of(o, o.num_prompts, seed)),
        input_(sampler(o.input_len, "input_len", LengthColumn::kInput, base_folder, seed)),
        output_(sampler(o.output_len, "output_len", LengthColumn::kOutput, base_folder, seed)) {}

  std::optional<Request> next() override {
    if (next_id_ == count_) return std::nullopt;
    Request r;
    r.id = static_cast<std::uint64_t>(next_id_++);
    r.arrival = arrivals_.next();
    r.prompt_tokens = input_->draw();
    r.output_tokens = output_->draw();
    return r;
  }
  std::int64_t size_hint() const override { return count_; }

 private:
  std::int64_t count_;
  std::int64_t next_id_ = 0;
  ArrivalProcess arrivals_;
  std::unique_ptr<LengthSampler> input_, output_;
};

class Conversations final : public RequestSource {
 public:
  Conversations(const WorkloadOptions& o, const std::string& base_folder, std::uint64_t seed)
      : options_(*o.sessions),
        count_(o.num_prompts),
        base_folder_(base_folder),
        seed_(seed),
        arrivals_(arrivals_of(o, count_sessions(), seed)),
        turns_(turn_sampler()),
        output_(sampler(o.output_len, "output_len", LengthColumn::kOutput, base_folder, seed)),
        think_(seed, "think_time") {
    const auto input = [&](const LengthOptions& length, const char* name) {
      return sampler(length, name, LengthColumn::kInput, base_folder, seed);
    };
    new_input_ = input(options_.new_input_len, "sessions.new_input_len");
    if (!is_unset(o.input_len)) first_input_ = input(o.input_len, "input_len");
  }

  std::optional<Request> next() override {
    if (next_id_ == count_) return std::nullopt;
    if (turn_ == turns_left_) start_session();
    Request r;
    r.id = static_cast<std::uint64_t>(next_id_++);
    r.session_id = session_;
    r.turn = turn_;
    r.arrival = start_;
    if (turn_ > 0 && options_.think_time_s > 0) {
      r.think_time = SimTime::from_seconds(think_.exponential(options_.think_time_s));
    }
    if (options_.shared_prefix_tokens > 0) {
      r.prefix_group = session_ % options_.prefix_groups;
      r.prefix_tokens = options_.shared_prefix_tokens;
    }
    r.prompt_tokens = static_cast<std::int32_t>(history_ + fresh_);
    r.output_tokens = output_->draw();
    history_ += fresh_ + r.output_tokens;
    ++turn_;
    fresh_ = turn_ < turns_left_ ? new_input_->draw() : 0;
    if (history_ + fresh_ > kMaxRowTokens) turns_left_ = turn_;
    return r;
  }
  std::int64_t size_hint() const override { return count_; }

 private:
  std::unique_ptr<LengthSampler> turn_sampler() const {
    return sampler(options_.turns, "sessions.turns", LengthColumn::kInput, base_folder_, seed_);
  }
  // How many conversations num_prompts requests take (a few more when some end early).
  std::int64_t count_sessions() const {
    const auto turns = turn_sampler();
    std::int64_t sessions = 0;
    for (std::int64_t requests = 0; requests < count_; ++sessions) requests += turns->draw();
    return sessions;
  }
  void start_session() {
    ++session_;
    start_ = arrivals_.next();
    turn_ = 0;
    turns_left_ = turns_->draw();
    fresh_ = first_input_ != nullptr ? first_input_->draw() : new_input_->draw();
    history_ = options_.shared_prefix_tokens;
  }

  SessionOptions options_;
  std::int64_t count_;
  std::string base_folder_;
  std::uint64_t seed_;
  ArrivalProcess arrivals_;
  std::unique_ptr<LengthSampler> turns_, new_input_, first_input_, output_;
  RandomStream think_;

  std::int64_t next_id_ = 0;
  std::int64_t session_ = -1;
  SimTime start_;
  std::int32_t turn_ = 0, turns_left_ = 0;
  std::int64_t history_ = 0;  // tokens said so far
  std::int64_t fresh_ = 0;    // tokens the next turn adds
};

// Every request, or every session with all its turns, is some tenant's, drawn by the shares.
class WithTenants final : public RequestSource {
 public:
  WithTenants(std::unique_ptr<RequestSource> source, std::vector<TenantOptions> tenants,
              std::uint64_t seed)
      : source_(std::move(source)), tenants_(std::move(tenants)), stream_(seed, "tenants") {
    for (const TenantOptions& tenant : tenants_) sum_ += tenant.share;
  }

  std::optional<Request> next() override {
    std::optional<Request> r = source_->next();
    if (!r) return r;
    // A generator gives the turns of a session one after the other.
    if (r->session_id < 0 || r->session_id != session_) tenant_ = draw();
    session_ = r->session_id;
    r->tenant = static_cast<std::int32_t>(tenant_);
    r->priority = tenants_[tenant_].priority;
    return r;
  }
  std::int64_t size_hint() const override { return source_->size_hint(); }

 private:
  std::size_t draw() {
    double rest = stream_.uniform() * sum_;
    for (std::size_t i = 0; i + 1 < tenants_.size(); ++i) {
      if (rest < tenants_[i].share) return i;
      rest -= tenants_[i].share;
    }
    return tenants_.size() - 1;
  }

  std::unique_ptr<RequestSource> source_;
  std::vector<TenantOptions> tenants_;
  RandomStream stream_;
  double sum_ = 0;
  std::int64_t session_ = -1;
  std::size_t tenant_ = 0;
};

void check_tenants(const std::vector<TenantOptions>& tenants) {
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    if (tenants[i].share > 0 && tenants[i].share <= 1e12) continue;
    const std::string key = "tenants[" + std::to_string(i) + "].share";
    fail(key.c_str(), std::to_string(tenants[i].share), "a number above 0");
  }
}

// Every request with as many samples or beams as the workload says, whatever its source says.
class WithSequences final : public RequestSource {
 public:
  WithSequences(std::unique_ptr<RequestSource> source, const WorkloadOptions& o)
      : source_(std::move(source)), samples_(o.samples), beam_width_(o.beam_width) {}

  std::optional<Request> next() override {
    std::optional<Request> r = source_->next();
    if (!r) return r;
    r->samples = std::max(samples_, 1);
    r->beam_width = beam_width_;
    return r;
  }
  std::int64_t size_hint() const override { return source_->size_hint(); }

 private:
  std::unique_ptr<RequestSource> source_;
  std::int32_t samples_, beam_width_;
};

void check_sessions(const SessionOptions& s) {
  if (!(s.think_time_s >= 0 && s.think_time_s < 1e9)) {
    fail("sessions.think_time_s", std::to_string(s.think_time_s), "0 or more seconds");
  }
  if (s.shared_prefix_tokens < 0 || s.shared_prefix_tokens > kMaxRowTokens / 2) {
    fail("sessions.shared_prefix_tokens", std::to_string(s.shared_prefix_tokens),
         "from 0 to " + std::to_string(kMaxRowTokens / 2) + " tokens");
  }
  if (s.prefix_groups < 1) {
    fail("sessions.prefix_groups", std::to_string(s.prefix_groups), "at least 1");
  }
}

}  // namespace

std::unique_ptr<RequestSource> open_generator(const WorkloadOptions& options,
                                              const std::string& base_folder, std::uint64_t seed) {
  check_generator_options(options);
  check_tenants(options.tenants);
  std::unique_ptr<RequestSource> source;
  if (options.sessions) {
    check_sessions(*options.sessions);
    source = std::make_unique<Conversations>(options, base_folder, seed);
  } else {
    source = std::make_unique<SingleTurns>(options, base_folder, seed);
  }
  if (options.tenants.empty()) return source;
  return std::make_unique<WithTenants>(std::move(source), options.tenants, seed);
}

std::unique_ptr<RequestSource> open_workload(const WorkloadOptions& options,
                                             const std::string& base_folder, std::uint64_t seed,
                                             std::vector<std::string>& notes) {
  if (options.max_concurrency < 0) {
    fail("max_concurrency", std::to_string(options.max_concurrency), "0 (no limit) or more");
  }
  check_sequences(options.samples, options.beam_width, "", "workload.beam_width");
  std::unique_ptr<RequestSource> source =
      !options.synth.empty()  ? open_synth(options, seed)
      : options.generated()   ? open_generator(options, base_folder, seed)
                              : open_trace(find_trace(options.trace, base_folder), options, notes);
  if (options.samples == 0 && options.beam_width == 0) return source;
  return std::make_unique<WithSequences>(std::move(source), options);
}

}  // namespace headway
