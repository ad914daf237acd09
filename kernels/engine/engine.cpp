#include "kernels/engine/engine.h"

#include <algorithm>
#include <utility>

#include "kernels/engine/decoder.h"
#include "kernels/engine/drafter.h"
#include "kernels/engine/page_tables.h"
#include "sim/core/errors.h"
#include "sim/replica/replica_step.h"

namespace headway::kernels {
namespace {

// A sequence with its text.
struct Active {
  Request request;
  Sequence sequence;
  std::vector<std::int32_t> text;    // prompt and answer
  std::vector<std::int32_t> drafts;  // to be verified in the next step
  std::vector<std::int32_t> fresh;   // what the last step yielded
  SimTime scheduled = SimTime::never(), first_token, last_token, max_itl;
  std::int32_t cached_tokens = 0;
};

RequestRecord record_of(const Active& a, SimTime now, const std::string* rejection) {
  const Sequence& s = a.sequence;
  RequestRecord r;
  r.id = a.request.id;
  r.session_id = a.request.session_id;
  r.arrival = a.request.arrival;
  r.failed = rejection != nullptr;
  r.scheduled = a.scheduled == SimTime::never() ? now : a.scheduled;
  r.first_token = r.failed ? now : a.first_token;
  r.finish = now;
  r.held = a.request.held;
  r.prompt_tokens = s.prompt_tokens;
  r.output_tokens = s.output_tokens;
  r.cached_tokens = a.cached_tokens;
  r.preemptions = s.preemptions;
  r.max_itl = a.max_itl;
  r.split[static_cast<std::size_t>(LatencyPart::kQueue)] = r.scheduled - r.arrival;
  r.split[static_cast<std::size_t>(LatencyPart::kPrefill)] = r.first_token - r.scheduled;
  r.split[static_cast<std::size_t>(LatencyPart::kDecode)] = r.finish - r.first_token;
  r.finish_reason = r.failed                                 ? *rejection
                    : s.finish_reason == FinishReason::kStop ? "stop"
                                                             : "length";
  return r;
}

}  // namespace

class Engine::Loop {
 public:
  Loop(const EngineConfig& config, EngineBackend& backend, Clock& clock, Client& client,
       std::span<Observer* const> observers)
      : config_(config),
        backend_(backend),
        clock_(clock),
        client_(client),
        observers_(observers),
        scheduler_(make_scheduler(config.scheduler)),
        pages_(*scheduler_, config.scheduler.num_blocks, config.scheduler.engine.block_size),
        text_(backend.shape().vocab) {
    const std::string_view method = config.scheduler.speculation;
    if (method == "ngram") drafter_ = make_ngram_drafter();
    if (method == "draft_model") {
      drafter_ =
          make_layer_drafter(backend, config.draft_layers, config.scheduler.engine.block_size);
    }
    run_.speculation.accepted_at.resize(
        static_cast<std::size_t>(config.scheduler.num_speculative_tokens));
  }

  EngineRun run() {
    clock_.start();
    const SimTime cpu_begin = clock_.cpu_time();
    for (;;) {
      take_in(clock_.now());
      scheduler_->plan(clock_.now(), plan_);
      const SimTime planned = clock_.now();
      heed_plan(planned);
      if (!plan_.empty()) {
        run_step(planned);
        continue;
      }
      if (scheduler_->waiting() + scheduler_->running() == 0 && client_.drained() &&
          client_.in_flight() == 0) {
        break;
      }
      wait();
    }
    run_.end = clock_.now();
    run_.wall_busy_s = (run_.end - waited_).seconds();
    run_.cpu_s = (clock_.cpu_time() - cpu_begin - waited_cpu_).seconds();
    scheduler_->check_kv();
    run_.prefix_hits = static_cast<std::int64_t>(scheduler_->kv_usage().prefix_hits);
    for (Observer* o : observers_) o->on_end(run_.end);
    return std::move(run_);
  }

 private:
  // All requests that are due by now join the queue.
  void take_in(SimTime now) {
    while (client_.next_send() <= now) {
      const SimTime begin = clock_.now();
      Request request = client_.pop(now);
      ++run_.requests;
      for (Observer* o : observers_) o->on_arrival(request.id, request.arrival);
      submit(std::move(request), now);
      run_.intake_us += (clock_.now() - begin).us();
    }
  }

  void submit(Request request, SimTime now) {
    if (request.samples > 1 || request.beam_width > 1) {
      throw InputError({"", "workload.samples", "several sequences a request",
                        "one: this engine runs no samples and no beams"});
    }
    std::uint32_t slot = static_cast<std::uint32_t>(slots_.size());
    if (free_slots_.empty()) {
      slots_.push_back(std::make_unique<Active>());
    } else {
      slot = free_slots_.back();
      free_slots_.pop_back();
      *slots_[slot] = Active();
    }
    Active& a = *slots_[slot];
    a.request = std::move(request);
    a.sequence = make_sequence(a.request, slot, order_++, now);
    a.text = text_.prompt(a.request);
    const Sequence& s = a.sequence;
    if (s.prompt_tokens + s.max_tokens > config_.max_model_len) {
      leave(a, now, "prompt and output exceed max_model_len");
      return;
    }
    scheduler_->add(a.sequence);
  }

  // Nothing can run: until the next request, or until the scheduler wants to look again.
  void wait() {
    const bool made_room = !plan_.preempted.empty() || !plan_.rejected.empty();
    if (made_room) return;
    const SimTime next = std::min(client_.next_send(), plan_.wake_at);
    SIM_CHECK(next != SimTime::never(), "INV-6: requests wait, and nothing will change that");
    // Up to that instant the engine has nothing to do; waking up late is time lost.
    const SimTime begin = clock_.now(), cpu_begin = clock_.cpu_time();
    clock_.wait_until(next);
    waited_ += std::max(next - begin, SimTime());
    waited_cpu_ += clock_.cpu_time() - cpu_begin;
  }

  void heed_plan(SimTime now) {
    for (const Rejection& rejection : plan_.rejected) {
      leave(active(*rejection.sequence), now, rejection.reason);
    }
    for (const Sequence* victim : plan_.preempted) {
      pages_.release(victim->slot);
      active(*victim).drafts.clear();
      ++run_.preemptions;
      for (Observer* o : observers_) o->on_preemption(victim->request->id, 0, now);
    }
    for (const ScheduledSequence& entry : plan_.scheduled) {
      if (entry.kind == ScheduledKind::kRunning) continue;
      Active& a = active(*entry.sequence);
      if (a.scheduled != SimTime::never()) continue;
      a.scheduled = now;
      a.cached_tokens = entry.computed_before;
    }
  }

  void run_step(SimTime planned) {
    const SimTime begin = planned, cpu_begin = clock_.cpu_time();
    const KvUsage usage = scheduler_->kv_usage();
    StepRecord record = record_of_plan(usage);
    shape_of(plan_, shape_);
    build_input();
    const SimTime before = clock_.now();
    const std::span<const std::int32_t> sampled = decode_step(backend_, input_);
    const SimTime after = clock_.now();
    verify(sampled);
    scheduler_->complete(plan_, result_, update_);
    const SimTime end = clock_.now();
    emit(end);
    record.start = begin;
    record.duration = end - begin;
    record.gpu = after - before;
    record.host = record.duration - record.gpu;
    for (Observer* o : observers_) o->on_step(record);
    for (Sequence* s : update_.finished) finish(active(*s), end);
    const SimTime drafting = clock_.now();
    propose();
    const SimTime done = clock_.now();
    const double wall = (done - begin).us(), cpu = (clock_.cpu_time() - cpu_begin).us();
    const double kernels = (after - before).us(), draft = (done - drafting).us();
    run_.steps.push_back({record.batch, input_.rows(), record.prefill_tokens, kernels, draft,
                          wall - kernels - draft, wall > 0 ? cpu / wall : 1, shape_});
  }

  StepRecord record_of_plan(const KvUsage& usage) const {
    StepRecord r;
    r.step = run_.steps.size();
    r.batch = static_cast<std::int32_t>(plan_.scheduled.size());
    for (const ScheduledSequence& e : plan_.scheduled) {
      (e.prefill ? r.prefill_tokens : r.decode_tokens) += e.num_tokens;
      if (e.kind != ScheduledKind::kRunning) r.cached_tokens += e.computed_before;
    }
    r.running = scheduler_->running();
    r.waiting = scheduler_->waiting();
    r.kv_blocks = usage.held_blocks;
    r.kv_blocks_total = usage.total_blocks;
    r.preempted = static_cast<std::int32_t>(plan_.preempted.size());
    r.kv_tokens_reserved = usage.held_blocks * usage.block_size;
    r.kv_tokens_stored = usage.tokens_stored;
    return r;
  }

  void build_input() {
    const std::int32_t page_size = config_.scheduler.engine.block_size;
    input_.clear();
    for (const ScheduledSequence& entry : plan_.scheduled) {
      const Active& a = active(*entry.sequence);
      const std::int32_t first = input_.rows(), end = entry.computed_before + entry.num_tokens;
      SequenceRows& rows = input_.sequences.emplace_back(
          SequenceRows{first, entry.num_tokens, entry.computed_before, {}});
      pages_.copy(entry.sequence->slot, end, rows.pages);
      for (std::int32_t p = entry.computed_before; p < end; ++p) {
        const auto known = static_cast<std::int32_t>(a.text.size());
        input_.tokens.push_back(p < known ? a.text[static_cast<std::size_t>(p)]
                                          : a.drafts[static_cast<std::size_t>(p - known)]);
        input_.positions.push_back(p);
        input_.slots.push_back(std::int64_t{rows.pages[static_cast<std::size_t>(p / page_size)]} *
                                   page_size +
                               p % page_size);
      }
      if (!entry.samples) continue;
      for (std::int32_t row = input_.rows() - 1 - entry.draft_tokens; row < input_.rows(); ++row) {
        input_.sampled_rows.push_back(row);
      }
    }
  }

  // Greedy verification: drafts are kept up to the first that the target would not have said.
  void verify(std::span<const std::int32_t> sampled) {
    result_.accepted_drafts.clear();
    std::size_t at = 0;
    for (const ScheduledSequence& entry : plan_.scheduled) {
      std::int32_t accepted = 0;
      if (entry.samples) {
        Active& a = active(*entry.sequence);
        while (accepted < entry.draft_tokens &&
               a.drafts[static_cast<std::size_t>(accepted)] ==
                   sampled[at + static_cast<std::size_t>(accepted)]) {
          ++accepted;
        }
        const auto first = sampled.begin() + static_cast<std::ptrdiff_t>(at);
        a.fresh.assign(first, first + accepted + 1);
        a.drafts.clear();
        at += static_cast<std::size_t>(entry.draft_tokens) + 1;
        if (entry.draft_tokens > 0) count_drafts(entry.draft_tokens, accepted);
      }
      result_.accepted_drafts.push_back(accepted);
    }
  }

  void count_drafts(std::int32_t drafted, std::int32_t accepted) {
    SpeculationStats& stats = run_.speculation;
    ++stats.drafts;
    stats.drafted_tokens += static_cast<std::uint64_t>(drafted);
    stats.accepted_tokens += static_cast<std::uint64_t>(accepted);
    for (std::int32_t i = 0; i < accepted; ++i) ++stats.accepted_at[static_cast<std::size_t>(i)];
  }

  void emit(SimTime now) {
    std::int64_t tokens = 0;
    for (const StepUpdate::Emission& emission : update_.emitted) {
      Active& a = active(*emission.sequence);
      for (std::int32_t i = 0; i < emission.tokens; ++i) {
        const std::int32_t token = a.fresh[static_cast<std::size_t>(i)];
        text_.learn(a.request, static_cast<std::int32_t>(a.text.size()), token);
        a.text.push_back(token);
      }
      tokens += emission.tokens;
      if (a.sequence.output_tokens == emission.tokens) {
        a.first_token = now;
      } else {
        const SimTime gap = now - a.last_token;
        a.max_itl = std::max(a.max_itl, gap);
        for (Observer* o : observers_) o->on_token_gaps(gap, 1, now);
      }
      a.last_token = now;
    }
    for (Observer* o : observers_) o->on_tokens(tokens, now);
  }

  void propose() {
    if (!drafter_) return;
    const std::int32_t count = config_.scheduler.num_speculative_tokens;
    std::vector<Active*> takers;
    std::vector<std::vector<std::int32_t>> tables;
    for (const StepUpdate::Emission& emission : update_.emitted) {
      Sequence& s = *emission.sequence;
      if (!s.takes_drafts()) continue;
      takers.push_back(&active(s));
      const std::int32_t room = pages_.capacity(s.slot);
      pages_.copy(s.slot, room, tables.emplace_back());
    }
    run_.draft_chances += std::ssize(takers);
    std::vector<DraftRequest> requests;
    for (std::size_t i = 0; i < takers.size(); ++i) {
      requests.push_back({takers[i]->text, tables[i], pages_.capacity(takers[i]->sequence.slot)});
    }
    std::vector<std::vector<std::int32_t>> drafts = drafter_->propose(requests, count);
    for (std::size_t i = 0; i < takers.size(); ++i) {
      takers[i]->drafts = std::move(drafts[i]);
      takers[i]->sequence.draft_tokens = static_cast<std::int32_t>(takers[i]->drafts.size());
    }
  }

  void finish(Active& a, SimTime now) {
    const auto prompt = a.text.begin() + a.sequence.prompt_tokens;
    run_.conversations.push_back({a.request.id, {a.text.begin(), prompt}, {prompt, a.text.end()}});
    pages_.release(a.sequence.slot);
    depart(a, record_of(a, now, nullptr), now);
  }
  void leave(Active& a, SimTime now, const std::string& reason) {
    depart(a, record_of(a, now, &reason), now);
  }
  void depart(Active& a, const RequestRecord& record, SimTime now) {
    for (Observer* o : observers_) o->on_finish(record);
    client_.on_finish(a.request.id, a.request.session_id, now);
    free_slots_.push_back(a.sequence.slot);
  }

  Active& active(const Sequence& sequence) { return *slots_[sequence.slot]; }

  const EngineConfig& config_;
  EngineBackend& backend_;
  Clock& clock_;
  Client& client_;
  std::span<Observer* const> observers_;
  std::unique_ptr<Scheduler> scheduler_;
  PageTables pages_;
  TokenText text_;
  std::unique_ptr<Drafter> drafter_;
  std::vector<std::unique_ptr<Active>> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t order_ = 0;
  StepPlan plan_;
  StepResult result_;
  StepUpdate update_;
  StepInput input_;
  StepShape shape_;
  SimTime waited_, waited_cpu_;
  EngineRun run_;
};

void check_engine(const EngineConfig& config) {
  const SchedulerConfig& s = config.scheduler;
  const std::unique_ptr<Scheduler> scheduler = make_scheduler(s);
  const bool named = PageTables::names_blocks(*scheduler);
  if (!named && (s.engine.preemption_mode == "swap" || s.engine.scheduler == "sglang" ||
                 (s.engine.scheduler == "vllm-v0" && s.engine.enable_prefix_caching))) {
    throw InputError({"", "engine.scheduler", s.engine.scheduler,
                      "vllm-v1, or a scheduler without prefix cache and swapping: the engine must "
                      "know which pages a cached prefix lies in"});
  }
  if (s.engine.block_size % 16 != 0) {
    throw InputError({"", "engine.block_size", std::to_string(s.engine.block_size),
                      "a multiple of 16, which the kernels' pages are made of"});
  }
  if (!s.speculation.empty() && s.speculation != "ngram" && s.speculation != "draft_model") {
    throw InputError({"", "speculation.method", std::string(s.speculation),
                      "ngram, or draft_model with fewer layers of the same model"});
  }
  SIM_CHECK(s.batches_in_flight == 1 && !s.engine.async_scheduling);
}

Engine::Engine(const EngineConfig& config, EngineBackend& backend, Clock& clock)
    : config_(config), backend_(backend), clock_(clock) {
  check_engine(config_);
}

Engine::~Engine() = default;

EngineRun Engine::run(Client& client, std::span<Observer* const> observers) {
  return Loop(config_, backend_, clock_, client, observers).run();
}

}  // namespace headway::kernels
