#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/replica/handover.h"

namespace headway {

// A request between the engine that has computed its prompt and the one that goes on with it.
struct KvTransfer {
  static constexpr std::uint32_t kNowhere = UINT32_MAX;
  Handover begun;
  std::uint32_t from = 0, to = kNowhere;  // engines
  std::uint64_t request = 0;
  std::int32_t prompt_tokens = 0, cached_tokens = 0;
  std::uint32_t slot = 0;  // at the receiver
  double bytes = 0;
  SimTime handed, start, end;
};

// What the transfers of a run came to.
struct TransferTotals {
  std::int64_t transfers = 0;
  double bytes = 0;
  double mean_ms = 0;       // from the first token until the KV was there
  double mean_wait_ms = 0;  // of that, for room and for the link
  double link_utilisation = 0;  // of the links of engines that have sent any: share of the run
};

// Requests between two engines: which are yet to be placed, which wait for room where, which are being
// sent. Each engine sends, and receives, one at a time: first come, first served.
class Transfers {
 public:
  explicit Transfers(std::size_t engines)
      : lines_(engines), marked_(engines), sends_free_(engines), gets_free_(engines),
        sent_any_(engines) {}

  // The engine that will go on with a request whose prompt is on its way to another one.
  void reserve(std::uint64_t request, std::uint32_t engine) { reserved_.emplace(request, engine); }
  // It ended before; the engine that is free of it.
  std::optional<std::uint32_t> give_up(std::uint64_t request);

  void hand_over(std::uint32_t from, Handover begun, SimTime now);
  // Something has changed in the engine: whoever waits for room there should ask again.
  void note_room(std::uint32_t engine);
  bool work_to_do() const { return !fresh_.empty() || !rooms_.empty(); }
  // Those handed over since the last call, in order of their requests.
  std::vector<std::uint32_t> take_fresh();
  // Engines to ask for room, in order, each with somebody waiting.
  std::vector<std::uint32_t> take_rooms();
  // Who goes on with a request that was counted nowhere.
  void assign(std::uint32_t number, std::uint32_t engine) {
    table_[number].to = engine;
    --nowhere_;
  }
  void wait_for_room(std::uint32_t number);
  bool anyone_waits(std::uint32_t engine) const { return !lines_[engine].empty(); }
  std::uint32_t first_waiting(std::uint32_t engine) const { return lines_[engine].front(); }
  void leave_line(std::uint32_t engine) { lines_[engine].pop_front(); }

  KvTransfer& at(std::uint32_t number) { return table_[number]; }
  // Sends it: when it will be there is its `end`.
  void send(std::uint32_t number, SimTime takes, SimTime now);
  // It has ended (or came to nothing); its number may be given to another one.
  KvTransfer take(std::uint32_t number);

  // Requests counted at the engine that is to go on, their prompts not computed yet; requests counted
  // nowhere.
  std::int64_t reserved() const { return std::ssize(reserved_); }
  std::int64_t nowhere() const { return nowhere_; }
  bool drained() const { return in_table_ == 0 && reserved_.empty(); }
  TransferTotals totals(SimTime run) const;

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> reserved_;
  std::vector<KvTransfer> table_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> fresh_, rooms_;
  std::vector<std::deque<std::uint32_t>> lines_;  // by engine, as all that follow
  std::vector<bool> marked_;                      // is in rooms_
  std::vector<SimTime> sends_free_, gets_free_;
  std::vector<bool> sent_any_;
  std::int64_t nowhere_ = 0, in_table_ = 0;
  TransferTotals sums_;
  SimTime busy_;
};

}  // namespace headway
