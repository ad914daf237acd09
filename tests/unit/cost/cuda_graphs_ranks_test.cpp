#include <array>

#include "sim/cost/cuda_graphs.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

std::array<StepShape, 3> ranks(std::int32_t a, std::int32_t b, std::int32_t c) {
  std::array<StepShape, 3> out;
  out[0].tokens = a;
  out[1].tokens = b;
  out[2].tokens = c;
  return out;
}

}  // namespace

TEST_CASE("ranks in step run the rows of the largest where all have a graph", "[unit][cost]") {
  auto shapes = ranks(5, 61, 0);
  align_ranks(shapes, CudaGraphs{512});
  for (const StepShape& s : shapes) {
    CHECK(s.padded_tokens == 64);
    CHECK(s.group_tokens == 192);
  }
}

TEST_CASE("one rank beyond the graphs: all run their own rows, a dummy batch one", "[unit][cost]") {
  auto shapes = ranks(600, 61, 0);
  align_ranks(shapes, CudaGraphs{512});
  CHECK(shapes[0].padded_tokens == 600);
  CHECK(shapes[1].padded_tokens == 61);
  CHECK(shapes[2].padded_tokens == 1);
  for (const StepShape& s : shapes) CHECK(s.group_tokens == 662);
  auto eager = ranks(3, 2, 0);
  align_ranks(eager, CudaGraphs{});
  CHECK(eager[0].group_tokens == 6);
}
