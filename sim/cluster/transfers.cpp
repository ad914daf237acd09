#include "sim/cluster/transfers.h"

#include <algorithm>

#include "sim/core/errors.h"

namespace headway {

std::optional<std::uint32_t> Transfers::give_up(std::uint64_t request) {
  const auto found = reserved_.find(request);
  if (found == reserved_.end()) return std::nullopt;
  const std::uint32_t engine = found->second;
  reserved_.erase(found);
  return engine;
}

void Transfers::hand_over(std::uint32_t from, Handover begun, SimTime now) {
  KvTransfer transfer;
  transfer.from = from;
  transfer.request = begun.request.id;
  transfer.prompt_tokens = begun.request.prompt_tokens;
  transfer.handed = now;
  if (const auto to = give_up(transfer.request)) {
    transfer.to = *to;
  } else {
    ++nowhere_;
  }
  transfer.begun = std::move(begun);
  std::uint32_t number = static_cast<std::uint32_t>(table_.size());
  if (free_.empty()) {
    table_.push_back(std::move(transfer));
  } else {
    number = free_.back();
    free_.pop_back();
    table_[number] = std::move(transfer);
  }
  ++in_table_;
  fresh_.push_back(number);
}

void Transfers::note_room(std::uint32_t engine) {
  if (marked_[engine] || lines_[engine].empty()) return;
  marked_[engine] = true;
  rooms_.push_back(engine);
}

std::vector<std::uint32_t> Transfers::take_fresh() {
  std::sort(fresh_.begin(), fresh_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return table_[a].request < table_[b].request;
  });
  return std::exchange(fresh_, {});
}

std::vector<std::uint32_t> Transfers::take_rooms() {
  std::sort(rooms_.begin(), rooms_.end());
  for (const std::uint32_t engine : rooms_) marked_[engine] = false;
  return std::exchange(rooms_, {});
}

void Transfers::wait_for_room(std::uint32_t number) {
  const std::uint32_t engine = table_[number].to;
  lines_[engine].push_back(number);
  if (lines_[engine].size() == 1) note_room(engine);  // else those before it have asked in vain
}

void Transfers::send(std::uint32_t number, SimTime takes, SimTime now) {
  KvTransfer& t = table_[number];
  t.start = std::max({now, sends_free_[t.from], gets_free_[t.to]});
  t.end = t.start + takes;
  sends_free_[t.from] = gets_free_[t.to] = t.end;
  sent_any_[t.from] = true;
  busy_ += takes;
  ++sums_.transfers;
  sums_.bytes += t.bytes;
  sums_.mean_ms += (t.end - t.handed).ms();
  sums_.mean_wait_ms += (t.start - t.handed).ms();
}

KvTransfer Transfers::take(std::uint32_t number) {
  --in_table_;
  free_.push_back(number);
  return std::move(table_[number]);
}

TransferTotals Transfers::totals(SimTime run) const {
  TransferTotals totals = sums_;
  if (totals.transfers == 0) return totals;
  totals.mean_ms /= static_cast<double>(totals.transfers);
  totals.mean_wait_ms /= static_cast<double>(totals.transfers);
  const auto links = static_cast<double>(std::count(sent_any_.begin(), sent_any_.end(), true));
  if (run > SimTime()) totals.link_utilisation = busy_.us() / (links * run.us());
  return totals;
}

}  // namespace headway
