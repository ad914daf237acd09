#include "kernels/profiler/grid.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/core/errors.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/profiler/fake_backend.h"

namespace headway::kernels {
namespace {

using test::fake_entry;
using Key = std::vector<std::int64_t>;

GridOptions options(std::vector<const char*> models, GridSize size = GridSize::kFull) {
  GridOptions o;
  o.size = size;
  for (const char* model : models) o.models.push_back(profiled_model(model));
  o.flops = 1e18;
  o.bytes_per_s = 1e15;
  o.memory_bytes = 1e13;
  o.probe_share = 0;
  return o;
}

std::set<Key> keys_of(const std::vector<Point>& points) {
  std::set<Key> keys;
  for (const Point& point : points) CHECK(keys.insert(point.call.key).second);
  return keys;
}

// Widths by hand, from the model's config: D 4096, 32 heads, 8 KV heads of 128, F 14336, V 128256.
TEST_CASE("the sites of products are those of the model", "[unit]") {
  const std::vector<KernelEntry> entries{
      fake_entry("gemm", {{"weights", "bf16"}, {"activations", "bf16"}})};
  std::set<Key> sites;
  for (const Key& key : keys_of(make_grid(entries, options({"llama-3.1-8b"})))) {
    sites.insert({key[0], key[1]});
  }
  CHECK(sites == std::set<Key>{{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336},
                               {128256, 4096}});
}

TEST_CASE("tensor parallelism slices the sites; shared widths come once", "[unit]") {
  const std::vector<KernelEntry> entries{fake_entry("gemm", {})};
  std::set<Key> sites;
  for (const Key& key :
       keys_of(make_grid(entries, options({"llama-3.1-8b:tp2", "llama-3.1-8b:tp2"})))) {
    sites.insert({key[0], key[1]});
  }
  CHECK(sites == std::set<Key>{{3072, 4096}, {4096, 2048}, {14336, 4096}, {4096, 7168},
                               {64128, 4096}});
  CHECK_THROWS_AS(profiled_model("llama-3.1-8b:tp3"), InputError);
  CHECK_THROWS_AS(profiled_model("llama-3.1-8b:tpx"), InputError);
  CHECK_THROWS_AS(profiled_model("lama-3.1-8b"), InputError);
}

TEST_CASE("the full list of m has small steps where tiles end; a full table has 26 a site",
          "[unit]") {
  const std::vector<KernelEntry> entries{fake_entry("gemm", {})};
  const std::vector<Point> points = make_grid(entries, options({"llama-3.1-8b"}));
  CHECK(points.size() == 5 * 26);
  for (const std::int64_t m : {1, 24, 160, 224, 448, 8192}) {
    const auto here = [&](const Point& p) { return p.call.key == Key{6144, 4096, m}; };
    CHECK(std::count_if(points.begin(), points.end(), here) == 1);
  }
  const auto quick = make_grid(entries, options({"llama-3.1-8b"}, GridSize::kQuick));
  CHECK(quick.size() < points.size());
}

TEST_CASE("attention gets the head counts of models with its head size", "[unit]") {
  const std::vector<KernelEntry> entries{
      fake_entry("attn_decode", {{"kv", "bf16"}, {"head_dim", "64"}, {"window", "0"}}),
      fake_entry("attn_decode", {{"kv", "bf16"}, {"head_dim", "128"}, {"window", "0"}})};
  const std::vector<Point> points =
      make_grid(entries, options({"llama-3.1-8b", "llama-3.2-1b", "llama-3.1-70b:tp8"}));
  std::set<Key> narrow, wide;
  for (const Point& p : points) {
    (p.entry == &entries[0] ? narrow : wide).insert({p.call.key[0], p.call.key[1]});
    CHECK(p.call.key[2] * p.call.key[3] <= (std::int64_t{4} << 20));
  }
  CHECK(narrow == std::set<Key>{{32, 8}});
  CHECK(wide == std::set<Key>{{32, 8}, {8, 1}});
}

TEST_CASE("norms by head only where a model has them", "[unit]") {
  const std::vector<KernelEntry> entries{
      fake_entry("rmsnorm", {{"dtype", "bf16"}, {"residual", "no"}}),
      fake_entry("rmsnorm", {{"dtype", "bf16"}, {"residual", "yes"}})};
  std::set<std::int64_t> plain, residual;
  for (const Point& p : make_grid(entries, options({"qwen3-14b"}))) {
    (p.entry == &entries[0] ? plain : residual).insert(p.call.key[0]);
  }
  CHECK(plain == std::set<std::int64_t>{128});
  CHECK(residual == std::set<std::int64_t>{5120});
}

TEST_CASE("calls that are too long, too large or unsupported are left out", "[unit]") {
  std::vector<KernelEntry> entries{fake_entry("gemm", {})};
  entries[0].work = [](const Case& call) {
    const double n = static_cast<double>(call.key[0]), k = static_cast<double>(call.key[1]);
    return Work{2 * n * k * static_cast<double>(call.key[2]), 1, 2 * n * k, 0};
  };
  GridOptions o = options({"llama-3.1-8b"});
  o.flops = 1e12;
  o.longest_call_s = 0.1;  // 1e11 FLOP
  o.memory_bytes = 5e8;    // not the LM head's 1.05 GB
  const std::vector<Point> points = make_grid(entries, o);
  REQUIRE_FALSE(points.empty());
  for (const Point& p : points) {
    CHECK(2.0 * static_cast<double>(p.call.key[0] * p.call.key[1] * p.call.key[2]) <= 1e11);
    CHECK(p.call.key[0] != 128256);
  }
  entries[0].supports = [](const Case& call) { return call.key[2] <= 16; };
  for (const Point& p : make_grid(entries, o)) CHECK(p.call.key[2] <= 16);
}

TEST_CASE("fp16 is checked and not timed", "[unit]") {
  const std::vector<KernelEntry> entries{fake_entry("silu_mul", {{"dtype", "fp16"}})};
  CHECK(make_grid(entries, options({"llama-3.1-8b"})).empty());
}

TEST_CASE("probes lie off the grid, between its points, and are few", "[unit]") {
  const std::vector<KernelEntry> entries{
      fake_entry("gemm", {}),
      fake_entry("attn_decode", {{"kv", "bf16"}, {"head_dim", "128"}, {"window", "0"}})};
  GridOptions o = options({"llama-3.1-8b"});
  o.probe_share = 0.05;
  const std::vector<Point> points = make_grid(entries, o);
  std::set<Key> grid;
  for (const Point& p : points) {
    if (!p.probe) grid.insert(p.call.key);
  }
  std::size_t probes = 0, ragged = 0;
  for (const Point& p : points) {
    if (!p.probe) continue;
    ++(p.call.lengths.empty() ? probes : ragged);
    if (!p.call.lengths.empty()) {
      CHECK(p.entry == &entries[1]);
      REQUIRE(p.call.lengths.size() == static_cast<std::size_t>(p.call.key[2]));
      double sum = 0;
      for (const std::int64_t length : p.call.lengths) sum += static_cast<double>(length);
      CHECK(std::llround(sum / static_cast<double>(p.call.key[2])) == p.call.key[3]);
      const auto [low, high] =
          std::minmax_element(p.call.lengths.begin(), p.call.lengths.end());
      CHECK(*high > *low);
    } else {
      CHECK_FALSE(grid.contains(p.call.key));
      CHECK(p.call.key.back() >= 1);
    }
  }
  CHECK(probes >= grid.size() / 20);
  CHECK(probes <= grid.size() / 20 + 2);
  CHECK(ragged >= 2);
  const std::vector<Point> again = make_grid(entries, o);
  REQUIRE(again.size() == points.size());
  for (std::size_t i = 0; i < points.size(); ++i) CHECK(again[i].call.key == points[i].call.key);
  o.seed = 2;
  const std::vector<Point> other = make_grid(entries, o);
  bool differs = other.size() != points.size();
  for (std::size_t i = 0; !differs && i < points.size(); ++i) {
    differs = other[i].call.key != points[i].call.key;
  }
  CHECK(differs);
}

TEST_CASE("an unknown kernel names the nearest", "[unit]") {
  const std::vector<KernelEntry> entries{fake_entry("gemm", {}), fake_entry("rmsnorm", {})};
  CHECK(only(entries, "").size() == 2);
  CHECK(only(entries, "gemm").size() == 1);
  CHECK(only(entries, "rmsnorm_kernel").size() == 1);
  try {
    only(entries, "rmsnrom");
    FAIL("an unknown kernel was taken");
  } catch (const InputError& error) {
    CHECK_THAT(error.parts().expected, ContainsSubstring("did you mean rmsnorm?"));
  }
}

}  // namespace
}  // namespace headway::kernels
