#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/workload/request.h"

namespace headway {

// A request on its way through its engine's host.
struct Parcel {
  Request request;
  std::uint32_t engine = 0;
  SimTime lost;  // with replicas that failed, since its arrival
  bool prompt_only = false;  // another engine goes on with it
};

// All parcels of a fleet, by a number that an event can carry.
class Parcels {
 public:
  std::uint32_t put(Request&& request, std::uint32_t engine, SimTime lost, bool prompt_only) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    Slot& slot = slots_[number];
    slot.parcel.request = std::move(request);
    slot.parcel.engine = engine;
    slot.parcel.lost = lost;
    slot.parcel.prompt_only = prompt_only;
    slot.there = true;
    return number;
  }

  // To be moved from, then discarded: it stays where it is until the next put() only. REQUIRES: it is
  // there.
  Parcel& unpack(std::uint32_t number) {
    slots_[number].there = false;
    return slots_[number].parcel;
  }
  // Its number may be given to another one from here on.
  void discard(std::uint32_t number) { free_.push_back(number); }

  // Those on their way to the engines of a replica that is lost, from `first` on, are added to
  // `requests`. Their numbers come back with
  // discard_if_lost().
  void lose(std::uint32_t first, std::uint32_t engines, std::vector<Request>& requests) {
    for (Slot& slot : slots_) {
      if (!slot.there || slot.parcel.engine - first >= engines) continue;
      slot.there = false;
      requests.push_back(std::move(slot.parcel.request));
    }
  }
  // False: it was lost. Its number is free then.
  bool discard_if_lost(std::uint32_t number) {
    if (slots_[number].there) return false;
    free_.push_back(number);
    return true;
  }

 private:
  struct Slot {
    Parcel parcel;
    bool there = false;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace headway
