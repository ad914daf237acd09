#include "sim/workload/lengths.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/core/errors.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace headway {
namespace {

struct Drawn {
  double mean = 0, stddev = 0;
  std::int32_t min = 0, max = 0;
};

Drawn draw(const LengthOptions& options, int n = 100'000, const std::string& folder = "") {
  const auto sampler = make_length_sampler(
      options, {"workload.input_len", folder, "input_len", LengthColumn::kInput, 5});
  double sum = 0, squares = 0;
  Drawn d{0, 0, 1 << 30, 0};
  for (int i = 0; i < n; ++i) {
    const std::int32_t x = sampler->draw();
    sum += x;
    squares += static_cast<double>(x) * x;
    d.min = std::min(d.min, x);
    d.max = std::max(d.max, x);
  }
  d.mean = sum / n;
  d.stddev = std::sqrt(std::max(0.0, squares / n - d.mean * d.mean));
  return d;
}

LengthOptions named(const std::string& distribution) {
  LengthOptions options;
  options.distribution = distribution;
  return options;
}

TEST_CASE("fixed lengths", "[unit]") {
  LengthOptions fixed;
  fixed.value = 512;
  const Drawn d = draw(fixed, 10);
  CHECK(d.min == 512);
  CHECK(d.max == 512);
}

TEST_CASE("uniform lengths reach both ends", "[unit]") {
  LengthOptions uniform = named("uniform");
  uniform.low = 10;
  uniform.high = 30;
  const Drawn d = draw(uniform);
  CHECK(d.min == 10);
  CHECK(d.max == 30);
  CHECK(d.mean == Approx(20).epsilon(0.01));
  CHECK(d.stddev == Approx(std::sqrt((21.0 * 21.0 - 1) / 12)).epsilon(0.02));
}

TEST_CASE("normal lengths", "[unit]") {
  LengthOptions normal = named("normal");
  normal.mean = 986;
  normal.stddev = 15;
  const Drawn d = draw(normal);
  CHECK(d.mean == Approx(986).epsilon(0.001));
  CHECK(d.stddev == Approx(15).epsilon(0.02));
}

TEST_CASE("a lognormal's mean and deviation are those of the lengths", "[unit]") {
  LengthOptions lognormal = named("lognormal");
  lognormal.mean = 1000;
  lognormal.stddev = 800;
  const Drawn d = draw(lognormal, 300'000);
  CHECK(d.mean == Approx(1000).epsilon(0.01));
  CHECK(d.stddev == Approx(800).epsilon(0.04));
}

TEST_CASE("draws are clamped to min and max", "[unit]") {
  LengthOptions normal = named("normal");
  normal.mean = 10;
  normal.stddev = 100;
  normal.min = 4;
  normal.max = 20;
  const Drawn d = draw(normal, 1000);
  CHECK(d.min == 4);
  CHECK(d.max == 20);
}

TEST_CASE("a mixture draws its parts by weight", "[unit]") {
  LengthOptions mixture = named("mixture");
  mixture.parts.resize(3);
  mixture.parts[0].value = 100;
  mixture.parts[1].value = 200;
  mixture.parts[2].value = 999;
  mixture.weights = {3, 1, 0};
  const Drawn d = draw(mixture);
  CHECK(d.mean == Approx(125).epsilon(0.01));
  CHECK(d.max == 200);
}

TEST_CASE("empirical lengths come from a column, each row with equal chance", "[unit]") {
  const test::TempFolder folder;
  folder.write("lengths.csv", "input_length,output_length\n10,1\n10,2\n30,3\n40,4\n");
  LengthOptions empirical = named("empirical");
  empirical.file = "lengths.csv";
  const auto sampler = make_length_sampler(
      empirical, {"workload.input_len", folder.path(), "input_len", LengthColumn::kInput, 5});
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < 40'000; ++i) ++counts[sampler->draw()];
  REQUIRE(counts.size() == 3);
  CHECK(counts[10] == Approx(20'000).epsilon(0.03));
  CHECK(counts[30] == Approx(10'000).epsilon(0.05));
  CHECK(counts[40] == Approx(10'000).epsilon(0.05));
}

TEST_CASE("input and output lengths of one file are drawn row by row", "[unit]") {
  const test::TempFolder folder;
  folder.write("lengths.csv", "input_length,output_length\n10,1\n20,2\n30,3\n40,4\n");
  LengthOptions empirical = named("empirical");
  empirical.file = "lengths.csv";
  const auto in = make_length_sampler(
      empirical, {"workload.input_len", folder.path(), "input_len", LengthColumn::kInput, 5});
  const auto out = make_length_sampler(
      empirical, {"workload.output_len", folder.path(), "output_len", LengthColumn::kOutput, 5});
  for (int i = 0; i < 100; ++i) CHECK(in->draw() == 10 * out->draw());
}

TEST_CASE("lengths without meaning are refused by name", "[unit]") {
  const auto place_of = [](const LengthOptions& options) {
    try {
      draw(options, 1);
    } catch (const InputError& error) {
      return error.parts().place;
    }
    return std::string("no error");
  };
  CHECK(place_of({}) == "workload.input_len");  // fixed 0
  LengthOptions o = named("gauss");
  CHECK(place_of(o) == "workload.input_len.distribution");
  o = named("normal");
  CHECK(place_of(o) == "workload.input_len.mean");
  o.mean = 10;
  o.stddev = -1;
  CHECK(place_of(o) == "workload.input_len.stddev");
  o.stddev = std::nan("");
  CHECK(place_of(o) == "workload.input_len.stddev");
  o = named("uniform");
  o.low = 5;
  o.high = 4;
  CHECK(place_of(o) == "workload.input_len.low, high");
  o = named("mixture");
  CHECK(place_of(o) == "workload.input_len.parts, weights");
  o.parts.resize(1);
  o.weights = {1};
  CHECK(place_of(o) == "workload.input_len.parts[0]");
  o.weights = {0};
  CHECK(place_of(o) == "workload.input_len.weights");
  o = named("empirical");
  CHECK(place_of(o) == "workload.input_len.file");
  o = {};
  o.value = 4;
  o.min = 0;
  CHECK(place_of(o) == "workload.input_len.min, max");
}

}  // namespace
}  // namespace headway
