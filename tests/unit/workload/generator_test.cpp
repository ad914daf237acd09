#include "sim/workload/generator.h"

#include <algorithm>
#include <limits>
#include <map>

#include "sim/workload/client.h"
#include "tests/support/catch.h"
#include "tests/unit/workload/trace_support.h"

namespace headway {
namespace {

WorkloadOptions simple() {
  WorkloadOptions options;
  options.num_prompts = 200;
  options.request_rate = 4;
  options.input_len.distribution = "lognormal";
  options.input_len.mean = 1000;
  options.input_len.stddev = 500;
  options.output_len.distribution = "uniform";
  options.output_len.low = 10;
  options.output_len.high = 90;
  return options;
}

std::string place_of(const WorkloadOptions& options) {
  try {
    test::read_all(options);
  } catch (const InputError& error) {
    return error.parts().place;
  }
  return "no error";
}

TEST_CASE("the same seed generates the same requests, another does not", "[unit]") {
  const auto a = test::read_all(simple(), "", 1).requests;
  const auto b = test::read_all(simple(), "", 1).requests;
  const auto c = test::read_all(simple(), "", 2).requests;
  REQUIRE(a.size() == 200);
  int different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].id == i);
    CHECK(a[i].arrival == b[i].arrival);
    CHECK(a[i].prompt_tokens == b[i].prompt_tokens);
    CHECK(a[i].output_tokens == b[i].output_tokens);
    different += a[i].prompt_tokens != c[i].prompt_tokens ? 1 : 0;
  }
  CHECK(different > 150);
}

TEST_CASE("changing one distribution does not shift another", "[unit]") {
  const auto before = test::read_all(simple()).requests;
  WorkloadOptions changed = simple();
  changed.output_len.distribution = "normal";  // takes another number of draws
  changed.output_len.mean = 50;
  changed.output_len.stddev = 20;
  const auto other_output = test::read_all(changed).requests;
  changed = simple();
  changed.burstiness = 0.3;
  const auto other_arrivals = test::read_all(changed).requests;
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(other_output[i].arrival == before[i].arrival);
    CHECK(other_output[i].prompt_tokens == before[i].prompt_tokens);
    CHECK(other_arrivals[i].prompt_tokens == before[i].prompt_tokens);
    CHECK(other_arrivals[i].output_tokens == before[i].output_tokens);
  }
  CHECK(other_output[5].output_tokens != before[5].output_tokens);
  CHECK(other_arrivals[5].arrival != before[5].arrival);
}

TEST_CASE("rates and closed loops", "[unit]") {
  WorkloadOptions options = simple();
  options.request_rate = std::numeric_limits<double>::infinity();
  for (const Request& r : test::read_all(options).requests) CHECK(r.arrival == SimTime());
  options.request_rate = 0;
  options.max_concurrency = 8;  // no rate needed: the limit paces it
  for (const Request& r : test::read_all(options).requests) CHECK(r.arrival == SimTime());
  options = simple();
  options.rescale_arrivals = true;
  CHECK(test::read_all(options).requests.back().arrival == SimTime::from_seconds(50));
}

TEST_CASE("generator options without meaning are refused by name", "[unit]") {
  WorkloadOptions options = simple();
  options.num_prompts = 0;
  CHECK(place_of(options) == "workload.num_prompts");
  options = simple();
  options.request_rate = 0;
  CHECK(place_of(options) == "workload.request_rate");
  options.request_rate = -1;
  CHECK(place_of(options) == "workload.request_rate");
  options.request_rate = 1e-12;
  CHECK(place_of(options) == "workload.request_rate");
  options = simple();
  options.burstiness = 0;
  CHECK(place_of(options) == "workload.burstiness");
  options = simple();
  options.output_len = {};
  CHECK(place_of(options) == "workload.output_len");
  options = simple();
  options.sessions.emplace();
  CHECK(place_of(options) == "workload.sessions.turns");
}

WorkloadOptions chats() {
  WorkloadOptions options = simple();
  options.request_rate = 0.5;
  options.num_prompts = 100;
  options.input_len = {};
  options.sessions.emplace();
  options.sessions->turns.distribution = "uniform";
  options.sessions->turns.low = 1;
  options.sessions->turns.high = 6;
  options.sessions->new_input_len.value = 40;
  options.sessions->think_time_s = 5;
  options.sessions->shared_prefix_tokens = 500;
  options.sessions->prefix_groups = 3;
  return options;
}

TEST_CASE("requests, and whole sessions, are of tenants by their shares", "[unit]") {
  WorkloadOptions options = simple();
  options.num_prompts = 8000;
  const auto plain = test::read_all(options).requests;
  options.tenants = {{1, 0}, {2, 5}, {1, -1}};
  const auto shared = test::read_all(options).requests;
  std::map<std::int32_t, int> counts;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    ++counts[shared[i].tenant];
    CHECK(shared[i].priority == options.tenants[static_cast<std::size_t>(shared[i].tenant)].priority);
    CHECK(shared[i].arrival == plain[i].arrival);  // nothing else is shifted
    CHECK(shared[i].prompt_tokens == plain[i].prompt_tokens);
  }
  CHECK(counts[0] == Approx(2000).margin(150));
  CHECK(counts[1] == Approx(4000).margin(150));
  CHECK(counts[2] == Approx(2000).margin(150));

  options = chats();
  options.num_prompts = 2000;
  options.tenants = {{1, 0}, {1, 1}};
  std::map<std::int64_t, std::int32_t> tenants;
  counts.clear();
  for (const Request& r : test::read_all(options).requests) {
    CHECK(tenants.emplace(r.session_id, r.tenant).first->second == r.tenant);
    ++counts[r.tenant];
  }
  CHECK(counts[0] == Approx(1000).margin(250));
  options.tenants[1].share = -1;
  CHECK(place_of(options) == "workload.tenants[1].share");
}

TEST_CASE("a turn's prompt is all that was said before and its own input", "[unit]") {
  const auto requests = test::read_all(chats()).requests;
  REQUIRE(requests.size() == 100);
  std::map<std::int64_t, std::int32_t> said;  // by session
  std::map<std::int64_t, std::int32_t> turns;
  SimTime last;
  for (const Request& r : requests) {
    if (r.turn == 0) said[r.session_id] = 500;
    CHECK(r.turn == turns[r.session_id]++);
    CHECK(r.prompt_tokens == said[r.session_id] + 40);
    said[r.session_id] = r.prompt_tokens + r.output_tokens;
    CHECK(r.prefix_tokens == 500);
    CHECK(r.prefix_group == r.session_id % 3);
    CHECK((r.turn == 0) == (r.think_time == SimTime()));
    CHECK(r.arrival >= last);
    last = r.arrival;
  }
  CHECK(turns.size() > 20);
}

TEST_CASE("the text of a conversation stays the same from turn to turn", "[unit]") {
  const auto requests = test::read_all(chats()).requests;
  const auto second =
      std::find_if(requests.begin(), requests.end(), [](const Request& r) { return r.turn == 1; });
  REQUIRE(second != requests.end());
  const Request& first = *(second - 1);
  REQUIRE(first.session_id == second->session_id);
  for (std::int32_t p = 0; p < first.prompt_tokens + first.output_tokens; ++p) {
    REQUIRE(token_at(first, p) == token_at(*second, p));
  }
  // Another session of the same group shares the system prompt and no more.
  const auto other = std::find_if(requests.begin(), requests.end(), [&](const Request& r) {
    return r.session_id != first.session_id && r.prefix_group == first.prefix_group;
  });
  REQUIRE(other != requests.end());
  CHECK(token_at(*other, 499) == token_at(first, 499));
  CHECK(token_at(*other, 500) != token_at(first, 500));
}

TEST_CASE("the first turn may have a length of its own", "[unit]") {
  WorkloadOptions options = chats();
  options.input_len.value = 2000;
  for (const Request& r : test::read_all(options).requests) {
    if (r.turn == 0) {
      CHECK(r.prompt_tokens == 2500);
    } else {
      CHECK(r.prompt_tokens > 2540);
    }
  }
}

TEST_CASE("a client walks generated conversations turn by turn", "[unit][client]") {
  std::vector<std::string> notes;
  Client client(open_workload(chats(), "", 3, notes), 4);
  struct Flight {
    SimTime finish;
    Request request;
  };
  std::vector<Flight> flights;
  std::map<std::int64_t, SimTime> finished;
  int sent = 0;
  while (!client.drained() || !flights.empty()) {
    const auto soonest =
        std::min_element(flights.begin(), flights.end(),
                         [](const Flight& a, const Flight& b) { return a.finish < b.finish; });
    const SimTime send = client.next_send();
    if (send < SimTime::never() && (flights.empty() || send < soonest->finish)) {
      const Request r = client.pop(send);
      ++sent;
      if (r.turn > 0) CHECK(r.arrival - r.held >= finished[r.session_id] + r.think_time);
      flights.push_back({r.arrival + SimTime::from_seconds(3), r});
      REQUIRE(flights.size() <= 4);
      continue;
    }
    REQUIRE(soonest != flights.end());
    finished[soonest->request.session_id] = soonest->finish;
    client.on_finish(soonest->request.id, soonest->request.session_id, soonest->finish);
    flights.erase(soonest);
  }
  CHECK(sent == 100);
}

TEST_CASE("the first values of seed 0, so that a change of streams is seen", "[unit]") {
  const auto requests = test::read_all(simple()).requests;
  struct First {
    std::int64_t arrival_ns;
    std::int32_t prompt, output;
  };
  const First first[] = {{140809929, 1088, 27}, {628081542, 674, 29}, {785106496, 650, 89}};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(requests[i].arrival.ns() == first[i].arrival_ns);
    CHECK(requests[i].prompt_tokens == first[i].prompt);
    CHECK(requests[i].output_tokens == first[i].output);
  }
}

}  // namespace
}  // namespace headway
