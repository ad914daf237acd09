#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/metrics/latency_meter.h"
#include "sim/metrics/observer.h"

namespace headway {

// What a request was doing over a stretch of its life.
enum class LifePhase : std::uint8_t {
  kFrontEnd,    // at the gateway, and the host's work before it reached a queue
  kInLine,      // waiting to be admitted, for the first time or again after a preemption
  kPassedOver,  // admitted, but the steps that ran had been planned without it
  kPrefill,     // its prompt being computed (with what it had lost, where the phase is `lost`)
  kDecode,      // its answer
  kMoving,      // between two replicas
  kOthers,      // of a request with several sequences: what the one that is told of does not show
};

// A stretch of like steps.
struct LifePiece {
  LifePhase phase = LifePhase::kInLine;
  bool lost = false;  // making up for a preemption
  SimTime from, to;
  LatencySplit split{};
  std::int64_t steps = 0;        // that ended in it
  std::int64_t steps_without = 0;  // of them, without a part for it
  std::int64_t tokens = 0;       // of its own: computed (prefill) or emitted (decode)
  // kInLine: the time by what held the line back; kNobody: a step under way when it came.
  std::array<SimTime, kHeldBackCauses> by_cause{};
  bool derived = false;          // some of the causes are (PlanFacts::derived)
  SimTime first;                 // kInLine: of it, as the first of the line, or it is not said who was
  // Who stood before it in line, or whose prompts held it up, and for how long.
  std::vector<std::pair<std::uint64_t, SimTime>> others;
};

struct LifePreemption {
  SimTime at;
  std::int64_t for_request = -1;     // who needed its KV; -1 = not said
  std::int32_t prefilled_tokens = 0;
};

struct RequestLife {
  RequestRecord record;
  std::vector<LifePiece> pieces;  // without gaps from arrival to finish; their splits sum to the record's
  std::vector<LifePreemption> preemptions;
};

// Follows requests step by step, one or all, by the very arithmetic of RequestRecord::split
// (LatencyMeter). Needs a run step by step: with skip-ahead, decodes are not told of one by one. Of a
// request with several sequences it follows the first.
class LifeObserver final : public Observer {
 public:
  // All requests, or `only` one. Memory: a piece a phase of each.
  explicit LifeObserver(std::optional<std::uint64_t> only = std::nullopt) : only_(only) {}

  bool hears_steps() const override { return false; }
  bool hears_facts() const override { return true; }
  void on_arrival(std::uint64_t request, SimTime now) override;
  void on_queued(std::uint64_t request, std::uint32_t replica, SimTime now,
                 SimTime at_gateway, SimTime lost) override;
  void on_left(std::uint64_t request, SimTime now) override;
  void on_received(std::uint64_t request, std::uint32_t replica, SimTime now) override;
  void on_plan(const PlanFacts& plan) override;
  void on_step_facts(const StepFacts& step) override;
  void on_finish(const RequestRecord& request) override;

  // Of those followed, in order of finish.
  const std::vector<RequestLife>& lives() const { return lives_; }
  // The existing request whose id is nearest to `only`; unset: there was none at all.
  std::optional<std::uint64_t> nearest() const { return nearest_; }

 private:
  static constexpr std::int64_t kNowhere = -1;  // in no replica
  struct Open {
    RequestLife life;
    LatencyMeter meter;
    TimeLedger ledger;
    SimTime arrival, at;     // told up to `at`
    LatencySplit told{};
    LatencySplit carried{};  // of it, from before `meter` began
    std::int64_t replica = kNowhere;
    bool queued = false;        // it has been
    bool in_line = false;
    bool has_token = false;
    HeldBack cause = HeldBack::kNobody;  // of the newest plan since it stands in line
    std::int64_t head = -1;
    bool derived = false;
  };
  void hear_plan(std::uint64_t id, Open& open, const PlanFacts& plan);
  void hear_step(std::uint64_t id, Open& open, const StepFacts& step, SimTime end);
  static void forget(Open& open);
  static void stand_in_line(Open& open, std::uint32_t replica);
  // Tells the time up to now, as such a phase; null when there was none.
  static LifePiece* tell(Open& open, SimTime now, LifePhase phase);
  static void tell_line(std::uint64_t id, Open& open, SimTime now);

  std::optional<std::uint64_t> only_, nearest_;
  std::map<std::uint64_t, Open> open_;
  std::vector<RequestLife> lives_;
};

}  // namespace headway
