#include "sim/study/edge_search.h"

#include <set>

#include "tests/support/catch.h"

using namespace headway;

namespace {

// Looks for the edge of `holds`; a value asked for twice is a fault.
struct Asked {
  std::set<double> values;
  Edge find(const EdgeOptions& options, const std::function<bool(double)>& holds) {
    return find_edge(options, [&](double value) {
      REQUIRE(values.insert(value).second);
      return holds(value);
    });
  }
};

EdgeOptions rates(double start) {
  EdgeOptions o;
  o.start = start;
  o.nearest = 1e-6;
  o.farthest = 1e6;
  o.tolerance = 0.01;
  return o;
}

}  // namespace

TEST_CASE("the edge of a rate is found from either side within the tolerance", "[unit][study]") {
  for (const double start : {0.001, 1.0, 7.0, 7.3, 8.0, 4000.0}) {
    INFO(start);
    Asked asked;
    const Edge edge = asked.find(rates(start), [](double x) { return x <= 7.3; });
    CHECK(edge.kind == Edge::Kind::kFound);
    CHECK(edge.good <= 7.3);
    CHECK(edge.bad > 7.3);
    CHECK(edge.bad <= edge.good * 1.01);
    CHECK(asked.values.size() < 25);
  }
}

TEST_CASE("a search that begins near its edge is short", "[unit][study]") {
  EdgeOptions o = rates(7.2);
  o.first_factor = 1.04;
  Asked asked;
  asked.find(o, [](double x) { return x <= 7.3; });
  CHECK(asked.values.size() <= 5);  // two to bracket four per cent, two to bisect them
}

TEST_CASE("whole numbers: the most that holds, the fewest that hold", "[unit][study]") {
  for (const double start : {1.0, 12.0, 13.0, 14.0, 900.0}) {
    INFO(start);
    EdgeOptions o = rates(start);
    o.whole = true;
    o.nearest = 1;
    o.farthest = 1000;
    const Edge most = Asked().find(o, [](double x) { return x <= 13; });
    CHECK(most.good == 13);
    CHECK(most.bad == 14);
    o.good_is_low = false;
    o.nearest = 1000;
    o.farthest = 1;
    const Edge fewest = Asked().find(o, [](double x) { return x >= 13; });
    CHECK(fewest.good == 13);
    CHECK(fewest.bad == 12);
  }
}

TEST_CASE("what holds nowhere, and what holds everywhere, is said with the farthest tried",
          "[unit][study]") {
  const Edge never = Asked().find(rates(3), [](double) { return false; });
  CHECK(never.kind == Edge::Kind::kNeverMet);
  CHECK(never.good == 1e-6);
  const Edge always = Asked().find(rates(3), [](double) { return true; });
  CHECK(always.kind == Edge::Kind::kAlwaysMet);
  CHECK(always.bad == 1e6);
}
