// What every row of the router table promises (routing/router.h), in a small fleet whose replicas come
// and go. A new router is covered by its row alone. To repeat a failure, run its seed.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "sim/core/random.h"
#include "sim/routing/router.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

constexpr std::uint64_t kCases = 60;
constexpr std::uint32_t kReplicas = 6;

struct Sent {
  Request request;
  std::uint32_t replica;
};

// Requests arrive and leave at random; replicas are lost with all they have, and come back.
class SmallFleet {
 public:
  SmallFleet(const RouterEntry& row, std::uint64_t seed, std::uint32_t replicas)
      : row_(row), router_(row.make({seed, {}})), random_(seed, "fleet"), ready_(replicas, true) {}

  std::vector<std::size_t> run(int requests) {
    std::vector<std::size_t> choices;
    for (int i = 0; i < requests; ++i) {
      now_ += SimTime::from_seconds(random_.exponential(1.0));
      while (!sent_.empty() && random_.uniform() < 0.45) {
        leave(static_cast<std::size_t>(random_.uniform_int(0, std::ssize(sent_) - 1)));
      }
      if (random_.uniform() < 0.05) change_fleet();
      choices.push_back(arrive(static_cast<std::uint64_t>(i)));
    }
    return choices;
  }

 private:
  std::size_t arrive(std::uint64_t id) {
    const std::vector<ReplicaLoad> loads = loads_now();
    Request request = draw(id);
    const std::size_t chosen = router_->choose(request, loads, now_);
    REQUIRE(chosen < loads.size());
    sent_.push_back({std::move(request), loads[chosen].replica});
    return loads[chosen].replica;
  }

  std::vector<ReplicaLoad> loads_now() const {
    std::vector<ReplicaLoad> loads;
    for (std::uint32_t i = 0; i < ready_.size(); ++i) {
      if (!ready_[i]) continue;
      ReplicaLoad load{.replica = i};
      for (const Sent& s : sent_) {
        if (s.replica != i) continue;
        ++load.outstanding;
        load.prompt_tokens += s.request.prompt_tokens;
      }
      // Whoever does not ask for it may not look at it.
      load.kv_share = row_.reads_kv ? static_cast<double>(load.prompt_tokens) / 10'000
                                    : std::numeric_limits<double>::quiet_NaN();
      loads.push_back(load);
    }
    return loads;
  }

  Request draw(std::uint64_t id) {
    Request r;
    r.id = id;
    r.arrival = now_;
    r.prompt_tokens = static_cast<std::int32_t>(random_.uniform_int(1, 300));
    r.output_tokens = 1;
    r.priority = static_cast<std::int32_t>(random_.uniform_int(-1, 2));
    if (random_.uniform() < 0.7) r.session_id = random_.uniform_int(0, 20);
    if (random_.uniform() < 0.5) {
      r.content_granularity = 16;
      for (int i = 0; i < 5; ++i) {
        r.content_ids.push_back(static_cast<std::uint64_t>(random_.uniform_int(0, 2)));
      }
    }
    return r;
  }

  void leave(std::size_t index) {
    if (row_.hears_leaving) router_->on_leave(sent_[index].request.id, sent_[index].replica);
    sent_.erase(sent_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void change_fleet() {
    const auto replica = static_cast<std::uint32_t>(random_.uniform_int(0, std::ssize(ready_) - 1));
    const bool last = std::count(ready_.begin(), ready_.end(), true) == 1;
    if (ready_[replica] && last) return;
    ready_[replica] = !ready_[replica];
    if (ready_[replica]) return;
    for (std::size_t i = sent_.size(); i-- > 0;) {
      if (sent_[i].replica == replica) leave(i);
    }
    router_->on_gone(replica);
  }

  const RouterEntry& row_;
  std::unique_ptr<Router> router_;
  RandomStream random_;
  std::vector<bool> ready_;
  std::vector<Sent> sent_;
  SimTime now_;
};

}  // namespace

TEST_CASE("every router chooses one of those that take requests, and the same for the same seed",
          "[contract][routing]") {
  for (const RouterEntry& row : router_table()) {
    std::set<std::size_t> chosen;
    for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
      INFO(row.name << ", seed " << seed);
      const auto first = SmallFleet(row, seed, kReplicas).run(200);
      REQUIRE(SmallFleet(row, seed, kReplicas).run(200) == first);
      chosen.insert(first.begin(), first.end());
    }
    REQUIRE(chosen.size() == kReplicas);  // none starves
  }
}

TEST_CASE("every router works with one replica", "[contract][routing]") {
  for (const RouterEntry& row : router_table()) {
    INFO(row.name);
    const auto choices = SmallFleet(row, 1, 1).run(200);
    REQUIRE(std::count(choices.begin(), choices.end(), 0U) == 200);
  }
}

TEST_CASE("router names and options are unique and helped", "[contract][routing]") {
  std::set<std::string_view> names;
  std::map<std::string_view, std::string_view> options;
  for (const RouterEntry& row : router_table()) {
    REQUIRE(names.insert(row.name).second);
    REQUIRE_FALSE(row.help.empty());
    for (const RouterOption& o : row.options) {
      INFO(o.name);
      REQUIRE_FALSE(o.help.empty());
      REQUIRE(o.low <= o.initial);
      REQUIRE(o.initial <= o.high);
      REQUIRE(options.emplace(o.name, row.name).second);  // a key means one thing
    }
  }
}
