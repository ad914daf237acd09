// The data of reports: what is in it, that it cannot break out of its place, and how large it gets.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/errors.h"
#include "sim/metrics/run_metrics.h"
#include "sim/report/html_data.h"
#include "sim/report/html_page.h"
#include "tests/support/catch.h"
#include "tests/support/records.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

const ReportPage kPage{"<html>{\"headway\":\"data\"}</html>", ""};

// A run of `hours`, a step a second, with what a report needs of it.
struct RecordedRun {
  RunMetrics metrics;
  RunRecorder recorder;
  RunSummary summary;
  RunInfo info;
  LatencyCurves curves;

  explicit RecordedRun(int hours) {
    Observer* const both[] = {&metrics, &recorder};
    std::uint64_t id = 0;
    for (std::int64_t second = 0; second < 3600LL * hours; ++second) {
      const auto at = static_cast<double>(second);
      StepRecord step;
      step.step = static_cast<std::uint64_t>(second);
      step.start = SimTime::from_seconds(at);
      step.duration = SimTime::from_ms(900 + static_cast<double>(second % 97));
      step.running = second % 61;
      step.waiting = second * 7919 % 1013;
      step.kv_blocks = second * 7907 % 10007;
      step.kv_blocks_total = 10007;
      step.preempted = second % 3 == 0 ? 1 : 0;
      for (Observer* observer : both) {
        if (second % 10 == 0) observer->on_arrival(id, step.start);
        observer->on_tokens(second % 61, step.start + step.duration);
        observer->on_step(step);
        if (second % 10 == 9) {
          const double begin = at - 9;
          observer->on_finish(finished(
              id, begin, begin, begin + 1.0 + 0.001 * static_cast<double>(second % 83), at, 9, 7));
        }
      }
      if (second % 10 == 9) ++id;
    }
    for (Observer* observer : both) observer->on_end(SimTime::from_seconds(3600.0 * hours));
    summary = metrics.result();
    curves = curves_of(metrics.latency());
  }
  ReportRun shown(const std::string& label = "") const {
    return {label, "a reason", &summary, &info, &curves, &recorder};
  }
};

std::string page_with(const ReportHead& head, const ReportRun& run) {
  return report_html(kPage, [&](std::size_t columns) { return run_report(head, run, columns); });
}

TEST_CASE("report: no text of a user ends the element that holds the data", "[unit]") {
  const std::string evil = "</script><script>alert(1)</script><!-- \xff \u2028 &amp; \"'";
  RecordedRun run(1);
  run.info.model_id = evil;
  run.info.scenario_json = Json{{"name", evil}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string html = page_with({evil, "headway run '" + evil + "'", {evil}}, run.shown(evil));
  CHECK(html.find("</script", 6) == std::string::npos);
  CHECK(html.find("<!--") == std::string::npos);
  // What comes out of the escaping is what went in (but for the byte that is no UTF-8).
  const std::size_t begin = std::string_view("<html>").size();
  const Json data =
      Json::parse(html.substr(begin, html.size() - begin - std::string_view("</html>").size()));
  CHECK(data["title"].get<std::string>().starts_with("</script><script>alert(1)</script><!-- "));
}

TEST_CASE("report: a program without its page says what is missing", "[unit]") {
  const ReportPage none{"", "no Node.js or no npm was found"};
  CHECK_THROWS_AS(require_report_page(none), InputError);
  CHECK_THROWS_WITH(require_report_page(none), ContainsSubstring("no Node.js or no npm was found") &&
                                                   ContainsSubstring("--report") &&
                                                   ContainsSubstring("cmake"));
  CHECK_NOTHROW(require_report_page(kPage));
  CHECK_THROWS_AS(report_html(none, [](std::size_t) { return Json(); }), InputError);
  // This build's own: one of the two, and a page has the place for its data and asks for nothing.
  const ReportPage own = report_page();
  CHECK(own.html.empty() != own.fault.empty());
  if (own.html.empty()) return;
  CHECK(own.html.find("{\"headway\":\"data\"}") != std::string_view::npos);
  CHECK(own.html.find("Content-Security-Policy") != std::string_view::npos);
  CHECK(own.html.find(" src=") == std::string_view::npos);
  CHECK(own.html.find("<link rel=\"stylesheet\"") == std::string_view::npos);
  CHECK(own.html.size() < 150'000);
}

TEST_CASE("report of a run: its keys", "[unit]") {
  RecordedRun run(1);
  run.info.scenario_json = R"({"seed": 3})";
  run.info.version = "1.2.3";
  const Json data = run_report({"name", "headway run x", {"a note"}}, run.shown(), kMostColumns);
  CHECK(data["schema_version"] == 1);
  CHECK(data["kind"] == "run");
  CHECK(data["command"] == "headway run x");
  CHECK(data["notes"] == Json{"a note"});
  CHECK(data["version"] == "1.2.3");
  CHECK(data["scenario"] == Json{{"seed", 3}});
  REQUIRE(data["runs"].size() == 1);
  const Json& shown = data["runs"][0];
  CHECK(shown["summary"]["completed"] == 360);
  CHECK_FALSE(shown["summary"]["headway"].contains("scenario"));
  CHECK(shown["verdict"]["load"] == "stable");
  for (const char* key : {"ttft_ms", "tpot_ms", "e2el_ms"}) {
    CHECK(shown["curves"][key].size() == shown["curves"]["shares"].size());
  }
  CHECK(shown["curves"]["itl_ms"].empty());  // nobody told of a gap
  CHECK(shown["groups"].size() == 4);
  const Json& history = shown["history"];
  for (const char* key : {"in_system", "in_system_min", "in_system_max", "running", "waiting", "kv",
                          "kv_peak", "busy"}) {
    CHECK(history[key].size() == history["columns"]);
  }
  CHECK(history["columns"] <= kMostColumns);
  // One request each ten seconds, there for nine; 30 tokens a step on the average.
  double arrivals = 0;
  for (const Json& rate : history["arrivals_per_s"]) arrivals += rate.get<double>();
  const auto columns = static_cast<double>(history["arrivals_per_s"].size());
  CHECK(arrivals / columns == Approx(0.1).epsilon(0.02));
  bool says = false;
  for (const Json& text : data["thinned"]) {
    says = says || text.get<std::string>().find("3 600 engine steps") != std::string::npos;
  }
  CHECK(says);
}

TEST_CASE("report: as large for a week as for an hour, and within its limit", "[unit]") {
  const RecordedRun hour(1), week(24 * 7);
  const std::size_t short_one = page_with({"", "", {}}, hour.shown()).size();
  const std::size_t long_one = page_with({"", "", {}}, week.shown()).size();
  CHECK(long_one < 160'000);
  CHECK(long_one < 2 * short_one);
}

TEST_CASE("report: of many variants the curves are few, and the table has all", "[unit]") {
  const RecordedRun run(24);
  std::vector<CompareRow> rows;
  std::vector<ReportRun> shown;
  std::vector<ParetoPoint> points;
  for (int i = 0; i < 1000; ++i) {
    const std::string label = fmt::format("engine.max_num_seqs={}, engine.block_size=16", i);
    rows.push_back({label, {run.summary}, std::string(150, 'x')});
    points.push_back({label, 1, 1.0 + i, 1001.0 - i, true});
    if (shown.size() < kMostCurves) shown.push_back(run.shown(label));
  }
  const ReportHead head{"", "", {}};
  const ComparedRuns compared{rows, shown, points, 1};
  std::vector<std::size_t> asked;
  const std::string html = report_html(kPage, [&](std::size_t columns) {
    asked.push_back(columns);
    return compare_report(head, compared, columns);
  });
  CHECK(html.size() <= kMaxReportBytes);
  CHECK(asked.front() == kMostColumns);
  const Json data = compare_report(head, compared, asked.back());
  CHECK(data["runs"].size() == kMostCurves);
  CHECK(data["compare"]["rows"].size() == 1000);
  CHECK(data["pareto"]["points"].size() == 1000);
  CHECK(data["thinned"].back() == "curves and bars: the first 12 of 1000 variants");
  // Curves share their columns, so that they can be drawn over one another.
  std::set<double> widths;
  for (const Json& one : data["runs"]) widths.insert(one["history"]["width_s"].get<double>());
  CHECK(widths.size() == 1);
}

TEST_CASE("report: too long a one is asked for again with fewer columns", "[unit]") {
  std::vector<std::size_t> asked;
  const std::string html = report_html(kPage, [&](std::size_t columns) {
    asked.push_back(columns);
    return Json{{"text", std::string(columns * 3000, 'x')}};
  });
  CHECK(asked == std::vector<std::size_t>{1536, 768, 384});
  CHECK(html.size() <= kMaxReportBytes);
}

TEST_CASE("report: variants are told apart by what they change", "[unit]") {
  RecordedRun first(1), second(1);
  first.info.scenario_json = R"({"engine": {"scheduler": "orca", "seqs": 8}, "seed": 1})";
  second.info.scenario_json = R"({"engine": {"scheduler": "static", "seqs": 8}, "seed": 1, "more": 2})";
  const std::vector<CompareRow> rows = {{"orca", {first.summary}, ""}, {"static", {second.summary}, ""}};
  const ReportRun shown[] = {first.shown("orca"), second.shown("static")};
  const Json data = compare_report({"", "", {}}, {rows, shown, {}, 1}, 100);
  CHECK(data["scenario"]["engine"]["scheduler"] == "orca");
  CHECK_FALSE(data["runs"][0].contains("changes"));
  CHECK(data["runs"][1]["changes"] == Json{{"/engine/scheduler", "static"}, {"/more", 2}});
}

TEST_CASE("report of a run in which nothing finished", "[unit]") {
  RunMetrics metrics;
  RunRecorder recorder;
  for (Observer* observer : {static_cast<Observer*>(&metrics), static_cast<Observer*>(&recorder)}) {
    observer->on_arrival(0, SimTime());
    observer->on_finish(rejected(0, 0, 0, "too long"));
    observer->on_end(SimTime());
  }
  const RunSummary summary = metrics.result();
  const LatencyCurves curves = curves_of(metrics.latency());
  const RunInfo info;
  const Json data =
      run_report({"", "", {}}, {"", "", &summary, &info, &curves, &recorder}, kMostColumns);
  CHECK(data["runs"][0]["curves"]["ttft_ms"].empty());
  CHECK(data["runs"][0]["groups"].empty());
  CHECK(data["runs"][0]["history"]["columns"] == 1);
  CHECK(data["runs"][0]["summary"]["failed"] == 1);
}

TEST_CASE("report: numbers have five digits, and what is none is null", "[unit]") {
  CHECK(short_number(1.0 / 3).dump() == "0.33333");
  CHECK(short_number(123456.7).dump() == "123460.0");
  CHECK(short_number(44'000'000).dump() == "44000000");
  CHECK(short_number(NAN).is_null());
  CHECK(short_number(INFINITY).is_null());
}

}  // namespace
}  // namespace headway
