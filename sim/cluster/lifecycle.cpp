#include "sim/cluster/lifecycle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "sim/core/errors.h"

namespace headway {
namespace {

// Later than this nothing is waited for.
constexpr double kHorizonSeconds = 4e9;

SimTime after(SimTime now, double seconds) {
  if (!(seconds < kHorizonSeconds - now.seconds())) return SimTime::never();
  return now + std::max(SimTime::from_seconds(seconds), SimTime::from_ns(1));
}

}  // namespace

bool Lifecycle::Timer::operator>(const Timer& other) const {
  return std::tie(at, due, replica, generation) >
         std::tie(other.at, other.due, other.replica, other.generation);
}

Lifecycle::Lifecycle(std::vector<LifecyclePool> pools, const LifecycleOptions& options,
                     std::uint64_t seed)
    : pools_(std::move(pools)), random_(options.failures_random) {
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    first_.push_back(static_cast<std::uint32_t>(members_.size()));
    SIM_CHECK(pools_[p].replicas <= pools_[p].most);
    for (std::int32_t i = 0; i < pools_[p].most; ++i) {
      Member& member = members_.emplace_back();
      member.pool = static_cast<std::uint32_t>(p);
      if (i < pools_[p].replicas) member.state = ReplicaState::kReady;
      if (random_) streams_.emplace_back(seed, "replica failures", members_.size() - 1);
    }
  }
  first_.push_back(static_cast<std::uint32_t>(members_.size()));
  for (const FailureOptions& f : options.failures) {
    SIM_CHECK(static_cast<std::size_t>(f.replica) < members_.size());
    const SimTime down = std::isinf(f.down_s) ? SimTime::never() : SimTime::from_seconds(f.down_s);
    timers_.push({SimTime::from_seconds(f.at_s), Due::kFails, static_cast<std::uint32_t>(f.replica),
                  kAlways, down});
  }
  for (std::uint32_t r = 0; r < members_.size(); ++r) {
    if (members_[r].state == ReplicaState::kReady) await_failure(r, SimTime());
  }
}

FleetRecord Lifecycle::count(std::uint32_t pool, SimTime now) const {
  FleetRecord record{.now = now, .pool = pool};
  for (std::uint32_t r = first_[pool]; r < first_[pool + 1]; ++r) {
    switch (members_[r].state) {
      case ReplicaState::kOff: break;
      case ReplicaState::kStarting: ++record.starting; break;
      case ReplicaState::kReady: ++record.ready; break;
      case ReplicaState::kDraining: ++record.draining; break;
      case ReplicaState::kFailed: ++record.failed; break;
    }
  }
  return record;
}

bool Lifecycle::may_serve() const {
  return std::any_of(members_.begin(), members_.end(), [this](const Member& m) {
    if (m.state == ReplicaState::kOff || m.state == ReplicaState::kDraining) {
      return pools_[m.pool].scales && !m.gone;
    }
    return true;
  });
}

void Lifecycle::advance(SimTime now, std::vector<ReplicaChange>& changes) {
  while (next() <= now) {
    const Timer timer = timers_.top();
    timers_.pop();
    if (timer.generation != kAlways && timer.generation != members_[timer.replica].generation) {
      continue;
    }
    switch (timer.due) {
      case Due::kBack: start(timer.replica, now, changes); break;
      case Due::kReady:
        move(timer.replica, ReplicaState::kReady, now, changes);
        await_failure(timer.replica, now);
        break;
      case Due::kFails: fail(timer.replica, timer.down, now, changes); break;
    }
  }
}

void Lifecycle::scale(std::uint32_t pool, std::int32_t replicas, SimTime now,
                      std::vector<ReplicaChange>& changes) {
  const FleetRecord has = count(pool, now);
  std::int32_t missing = replicas - (has.starting + has.ready + has.failed);
  for (const ReplicaState from : {ReplicaState::kDraining, ReplicaState::kOff}) {
    for (std::uint32_t r = first_[pool]; r < first_[pool + 1] && missing > 0; ++r) {
      if (members_[r].state != from || members_[r].gone) continue;
      --missing;
      if (from == ReplicaState::kOff) {
        start(r, now, changes);
      } else {
        move(r, ReplicaState::kReady, now, changes);
      }
    }
  }
  for (const ReplicaState from :
       {ReplicaState::kStarting, ReplicaState::kFailed, ReplicaState::kReady}) {
    for (std::uint32_t r = first_[pool + 1]; r-- > first_[pool] && missing < 0;) {
      if (members_[r].state != from) continue;
      ++missing;
      const bool ready = from == ReplicaState::kReady;
      move(r, ready ? ReplicaState::kDraining : ReplicaState::kOff, now, changes);
    }
  }
}

void Lifecycle::emptied(std::uint32_t replica, SimTime now, std::vector<ReplicaChange>& changes) {
  SIM_CHECK(members_[replica].state == ReplicaState::kDraining);
  move(replica, ReplicaState::kOff, now, changes);
}

// Timers of the state that it leaves are out of date; one that drains, or is taken back, may fail as
// when it was ready.
void Lifecycle::move(std::uint32_t replica, ReplicaState to, SimTime now,
                     std::vector<ReplicaChange>& changes, bool lost) {
  Member& member = members_[replica];
  const ReplicaState from = member.state;
  const auto serves = [](ReplicaState s) {
    return s == ReplicaState::kReady || s == ReplicaState::kDraining;
  };
  if (!serves(from) || !serves(to)) ++member.generation;
  if (from == ReplicaState::kOff) member.paid_from = now;
  if (to == ReplicaState::kOff) member.paid_ns += (now - member.paid_from).ns();
  member.state = to;
  changes.push_back({replica, from, to, lost});
}

void Lifecycle::start(std::uint32_t replica, SimTime now, std::vector<ReplicaChange>& changes) {
  move(replica, ReplicaState::kStarting, now, changes);
  await(now + pools_[members_[replica].pool].startup, Due::kReady, replica);
}

void Lifecycle::fail(std::uint32_t replica, SimTime down, SimTime now,
                     std::vector<ReplicaChange>& changes) {
  Member& member = members_[replica];
  if (member.state == ReplicaState::kOff || member.state == ReplicaState::kFailed) return;
  ++failures_;
  member.gone = down == SimTime::never();
  const bool off = member.gone || member.state == ReplicaState::kDraining;
  move(replica, off ? ReplicaState::kOff : ReplicaState::kFailed, now, changes, true);
  if (!off) await(now + down, Due::kBack, replica);
}

void Lifecycle::await_failure(std::uint32_t replica, SimTime now) {
  if (!random_) return;
  const SimTime at = after(now, streams_[replica].exponential(random_->mtbf_s));
  const SimTime back = after(now, streams_[replica].exponential(random_->mttr_s));
  await(at, Due::kFails, replica, back == SimTime::never() ? back : back - now);
}

void Lifecycle::await(SimTime at, Due due, std::uint32_t replica, SimTime down) {
  if (at == SimTime::never()) return;
  timers_.push({at, due, replica, members_[replica].generation, down});
}

double Lifecycle::provisioned_s(std::uint32_t pool, SimTime end) const {
  std::int64_t ns = 0;
  for (std::uint32_t r = first_[pool]; r < first_[pool + 1]; ++r) {
    const Member& member = members_[r];
    ns += member.paid_ns;
    if (member.state != ReplicaState::kOff) ns += (end - member.paid_from).ns();
  }
  return static_cast<double>(ns) / 1e9;
}

}  // namespace headway
