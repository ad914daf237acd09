// The structure of a timeline: what Perfetto needs of it, checked event by event.
#include "sim/report/timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/core/errors.h"
#include "tests/support/busy_engine.h"
#include "tests/support/catch.h"
#include "tests/support/run_program.h"

using namespace headway;
using nlohmann::json;
using test::TempFolder;

namespace {

// Nanoseconds of a time in microseconds with three decimals.
std::int64_t ns(const json& us) { return std::llround(us.get<double>() * 1000); }

bool is_step(const json& e) {
  return e["ph"] == "X" && e.contains("args") && e["args"].contains("step");
}

// Steps are written a nanosecond shorter than they are.
std::int64_t end_of(const json& step) { return ns(step["ts"]) + ns(step["dur"]) + 1; }

json timeline_of(BenchEngine& bench, TimelineOptions options = {}, RunOptions run = {}) {
  const TempFolder folder;
  const std::string path = folder / "timeline.json";
  Timeline timeline(path, options);
  const std::array<Observer*, 1> observers = {&timeline};
  bench.run(observers, run);
  timeline.check_window("--timeline-window");
  timeline.commit();
  json all = json::parse(test::read_text(path));
  CHECK(static_cast<std::int64_t>(all["traceEvents"].size()) == timeline.events());
  return all["traceEvents"];
}

// X events of a thread nest strictly: each ends before the one that it begins in, and before the next
// begins, also when start and length are added in floating point (all but the marks of a nanosecond).
void check_nesting(const json& events) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> threads;
  for (const json& e : events) {
    if (e["ph"] != "X" || e["name"] == "arrival") continue;
    const double from = e["ts"], length = e["dur"];
    threads[{e["pid"], e["tid"]}].emplace_back(from, from + length);
  }
  CHECK_FALSE(threads.empty());
  for (auto& [thread, spans] : threads) {
    std::stable_sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<double> open;
    for (const auto& [from, to] : spans) {
      while (!open.empty() && open.back() < from) open.pop_back();
      if (!open.empty()) CHECK(to < open.back());
      open.push_back(to);
    }
  }
}

// Async events of one id: pairs close in the order of a stack, and time never goes back.
std::int64_t check_async(const json& events) {
  std::map<std::string, std::vector<std::string>> open;
  std::map<std::string, std::int64_t> last;
  std::int64_t requests = 0;
  for (const json& e : events) {
    const std::string phase = e["ph"];
    if (phase != "b" && phase != "n" && phase != "e") continue;
    const std::string id = e["id"], name = e["name"];
    CHECK(e["cat"] == "request");
    CHECK(ns(e["ts"]) >= last[id]);
    last[id] = ns(e["ts"]);
    if (phase == "b") {
      CHECK((name == "request") == open[id].empty());
      requests += name == "request" ? 1 : 0;
      open[id].push_back(name);
    } else {
      REQUIRE_FALSE(open[id].empty());
      if (phase == "e") {
        CHECK(open[id].back() == name);
        open[id].pop_back();
      }
    }
  }
  for (const auto& [id, stack] : open) CHECK(stack.empty());
  return requests;
}

// Told when they change, and once more when the last step of the replica has ended.
void check_counters(const json& events) {
  std::map<std::pair<int, std::string>, std::pair<std::int64_t, double>> last;
  std::map<int, std::int64_t> end;
  for (const json& e : events) {
    if (is_step(e)) end[e["pid"]] = std::max(end[e["pid"]], end_of(e));
  }
  for (const json& e : events) {
    if (e["ph"] != "C") continue;
    const std::pair<int, std::string> key{e["pid"], e["name"]};
    const double value = e["args"]["value"];
    if (last.contains(key)) {
      CHECK(ns(e["ts"]) >= last[key].first);
      CHECK((value != last[key].second || ns(e["ts"]) == end[e["pid"]]));
    }
    last[key] = {ns(e["ts"]), value};
    if (key.second == "kv_cache_usage") CHECK((value >= 0 && value <= 1));
  }
  CHECK(last.size() >= 4);
  for (const auto& [key, told] : last) CHECK(told.first == end[key.first]);
}

std::int64_t count_steps(const json& events) {
  return std::count_if(events.begin(), events.end(), is_step);
}

std::int64_t count(const json& events, const std::string& phase, const std::string& name) {
  std::int64_t n = 0;
  for (const json& e : events) n += e["ph"] == phase && e["name"] == name ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("timeline: steps nest, pairs are balanced, counters go forward, flows lead to steps",
          "[unit]") {
  for (const char* scheduler : {"vllm-v1", "sglang"}) {
    for (const bool step_by_step : {false, true}) {
      INFO(scheduler << (step_by_step ? " step by step" : " skipping"));
      BenchEngine bench = busy_engine(scheduler);
      bench.workload().num_prompts = 60;
      const json events = timeline_of(bench, {}, {.step_by_step = step_by_step});
      check_nesting(events);
      CHECK(check_async(events) == 60);
      check_counters(events);
      CHECK(count(events, "s", "first step") == 60);
      CHECK(count(events, "f", "first step") == 60);
      CHECK(count(events, "X", "arrival") == 60);
      CHECK(count(events, "n", "chunk") >= 60);
      // Viewers bind a flow's end without "bp" to the next slice of its thread in the file: that must be
      // the step, which begins then. (With "bp": "e" they take the step before, which ends then.)
      for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i]["ph"] != "f") continue;
        CHECK_FALSE(events[i].contains("bp"));
        std::size_t next = i + 1;
        while (events[next]["ph"] != "X" || events[next]["pid"] != events[i]["pid"]) ++next;
        CHECK(is_step(events[next]));
        CHECK(events[next]["args"]["prefill_tokens"] > 0);
        for (const char* field : {"tid", "ts"}) CHECK(events[next][field] == events[i][field]);
      }
      for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i]["ph"] != "s") continue;
        CHECK(events[i - 1]["name"] == "arrival");
        for (const char* field : {"pid", "tid", "ts"}) CHECK(events[i - 1][field] == events[i][field]);
      }
    }
  }
}

TEST_CASE("timeline: a step's name says what it computed", "[unit]") {
  BenchEngine bench = busy_engine("vllm-v1");
  bench.workload().num_prompts = 60;
  const json events = timeline_of(bench);
  for (const json& e : events) {
    if (!is_step(e)) continue;
    const bool prompts = e["args"]["prefill_tokens"] > 0, answers = e["args"]["decode_tokens"] > 0;
    CHECK(e["name"] == (prompts && answers ? "mixed" : prompts ? "prefill" : "decode"));
  }
  for (const char* name : {"decode", "prefill", "mixed"}) {
    CHECK(count(events, "X", name) > 0);
  }
}

// Two requests, one long after the other: between them, and at the end, nothing runs.
TEST_CASE("timeline: counters of an idle engine are zero", "[unit]") {
  for (const bool step_by_step : {false, true}) {
    BenchEngine bench("vllm-v1");
    bench.workload().num_prompts = 2;
    bench.workload().request_rate = 0.01;
    bench.workload().input_len.value = 100;
    bench.workload().output_len.value = 5;
    const json events = timeline_of(bench, {}, {.step_by_step = step_by_step});
    std::int64_t ended = 0;
    std::map<std::string, double> now;
    std::vector<std::map<std::string, double>> idle;  // as the counters stood in each gap
    for (const json& e : events) {
      if (is_step(e)) {
        if (ended > 0 && ns(e["ts"]) > ended) idle.push_back(now);
        ended = end_of(e);
      }
      if (e["ph"] != "C") continue;
      now[e["name"]] = e["args"]["value"];
      if (e["name"] == "batched_tokens" && now["batched_tokens"] == 0) CHECK(ns(e["ts"]) == ended);
    }
    idle.push_back(now);
    REQUIRE(idle.size() == 2);
    for (const auto& counters : idle) {
      CHECK(counters.size() == 4);
      for (const auto& [name, value] : counters) CHECK(value == 0);
    }
  }
}

TEST_CASE("timeline: replicas are shown in the order of their numbers, requests below", "[unit]") {
  BenchEngine bench = busy_engine("vllm-v1");
  bench.scenario.cluster.replicas = 12;
  std::map<std::int64_t, std::string> shown;
  std::map<int, std::int64_t> place;
  const json events = timeline_of(bench);
  for (const json& e : events) {
    if (e["name"] == "process_sort_index") place[e["pid"]] = e["args"]["sort_index"];
  }
  for (const json& e : events) {
    if (e["name"] == "process_name") shown[place.at(e["pid"])] = e["args"]["name"];
  }
  REQUIRE(shown.size() == 13);
  std::int64_t number = 0;
  for (const auto& [at, name] : shown) {
    CHECK(name == (number == 12 ? "requests" : "replica " + std::to_string(number)));
    ++number;
  }
}

TEST_CASE("timeline: both ways of simulating tell the same steps", "[unit]") {
  std::array<std::vector<std::array<std::int64_t, 3>>, 2> steps;
  for (const bool step_by_step : {false, true}) {
    BenchEngine bench = busy_engine("vllm-v1");
    bench.workload().num_prompts = 40;
    for (const json& e : timeline_of(bench, {}, {.step_by_step = step_by_step})) {
      if (!is_step(e)) continue;
      steps[step_by_step ? 1 : 0].push_back({e["pid"], ns(e["ts"]), ns(e["dur"])});
    }
    std::sort(steps[step_by_step ? 1 : 0].begin(), steps[step_by_step ? 1 : 0].end());
  }
  CHECK(steps[0].size() > 100);
  CHECK(steps[0] == steps[1]);
}

TEST_CASE("timeline: preemptions are told; overlapping steps get threads of their own", "[unit]") {
  BenchEngine bench = busy_engine("vllm-v1");
  bench.scenario.cluster.replicas = 1;
  const json events = timeline_of(bench);
  CHECK(count(events, "n", "preempted") > 0);
  BenchEngine pipeline("vllm-v1");
  pipeline.blueprint.replica.pipeline_parallel_size = 2;
  pipeline.blueprint.replica.batches_in_flight = 2;
  pipeline.blueprint.scheduler.batches_in_flight = 2;
  pipeline.blueprint.scheduler.pipeline_parallel_size = 2;
  pipeline.workload().num_prompts = 30;
  pipeline.workload().request_rate = INFINITY;
  pipeline.engine().max_num_batched_tokens = 32;  // two prompts a step: the next step has some too
  pipeline.workload().output_len.value = 5;
  const json overlapping = timeline_of(pipeline);
  check_nesting(overlapping);
  bool second = false;
  for (const json& e : overlapping) second = second || (is_step(e) && e["tid"] == 2);
  CHECK(second);
}

TEST_CASE("timeline: a window and a sample leave out the rest", "[unit]") {
  BenchEngine bench = busy_engine("vllm-v1");
  const SimTime from = SimTime::from_seconds(1), to = SimTime::from_seconds(2);
  const json whole = timeline_of(bench);
  const json part = timeline_of(bench, parse_timeline_options("1:2", "--timeline-window", 1));
  CHECK(part.size() < whole.size() / 2);
  check_nesting(part);
  CHECK(check_async(part) > 0);
  for (const json& e : part) {
    if (!is_step(e)) continue;
    CHECK(ns(e["ts"]) < to.ns());
    CHECK(ns(e["ts"]) + ns(e["dur"]) >= from.ns());
  }
  const json sample = timeline_of(bench, parse_timeline_options("", "--timeline-window", 0.25));
  check_nesting(sample);
  const std::int64_t requests = check_async(sample);
  CHECK(requests > 300 / 8);
  CHECK(requests < 300 / 2);
  const std::int64_t steps = count_steps(whole);
  CHECK(std::abs(count_steps(sample) - steps / 4) <= 2);
}

TEST_CASE("timeline: windows that cannot be", "[unit]") {
  const std::string flag = "--timeline-window";
  for (const char* window : {"5", "a:b", "3:2", "2:2", "-1:2", "1:2x", "nan:2", "1:inf"}) {
    INFO(window);
    CHECK_THROWS_AS(parse_timeline_options(window, flag, 1), InputError);
  }
  CHECK(parse_timeline_options(":2.5", flag, 1).to == SimTime::from_ms(2500));
  CHECK(parse_timeline_options("7:", flag, 1).to == SimTime::never());
  BenchEngine bench;
  CHECK_THROWS_AS(timeline_of(bench, parse_timeline_options("50:60", flag, 1)), InputError);
}
