#include "sim/cli/variants.h"

#include "sim/core/errors.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

std::vector<std::string> labels(const std::vector<std::string>& vary) {
  std::vector<std::string> names;
  for (const Variant& variant : make_variants(vary)) names.push_back(variant.label);
  return names;
}

}  // namespace

TEST_CASE("one key varied names its values", "[unit][cli]") {
  REQUIRE(labels({"engine.scheduler=static,orca"}) == std::vector<std::string>{"static", "orca"});
  REQUIRE(make_variants({"a.b=1"}).front().assignments.front().key == "a.b");
  REQUIRE(make_variants({"a.b=1"}).front().assignments.front().flag == "--vary");
}

TEST_CASE("several keys make every combination, the first slowest", "[unit][cli]") {
  REQUIRE(labels({"x=1,2", "y=a,b"}) ==
          std::vector<std::string>{"x=1, y=a", "x=1, y=b", "x=2, y=a", "x=2, y=b"});
}

TEST_CASE("commas inside a value do not separate", "[unit][cli]") {
  REQUIRE(labels({R"(w={"a": 1, "b": [2, 3]},"x,\"y",z)"}) ==
          std::vector<std::string>{R"({"a": 1, "b": [2, 3]})", R"("x,\"y")", "z"});
}

TEST_CASE("a variation that says nothing is refused", "[unit][cli]") {
  REQUIRE_THROWS_AS(make_variants({"x"}), InputError);
  REQUIRE_THROWS_WITH(make_variants({"x=1,,2"}), ContainsSubstring("empty value"));
  REQUIRE_THROWS_WITH(make_variants({"x=1,1"}), ContainsSubstring("twice"));
  REQUIRE_THROWS_WITH(make_variants({"x=1", "x=2"}), ContainsSubstring("twice"));
}
