// Which mode of the emulator catches which planted bug. Those that only a sanitizer sees are
// programs of their own (kernels/tests/planted/main.cpp, run by ctest).

#include <string>
#include <vector>

#include "kernels/tests/planted/bugs.h"
#include "tests/support/catch.h"

namespace headway::kernels::planted {
namespace {

const Bug& bug_named(const std::string& name) {
  for (const Bug& bug : bugs()) {
    if (name == bug.name) return bug;
  }
  throw std::logic_error("no planted bug " + name);
}

bool equal(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i])) return false;  // also for a NaN
  }
  return true;
}

bool fair(const emu::Mode& mode) {
  return mode.order == emu::Order::kForward || mode.order == emu::Order::kReverse ||
         mode.order == emu::Order::kShuffled;
}

// Runs the broken kernel in every mode; caught(mode) says where its results must be wrong.
template <class Caught>
void expect(const std::string& name, Caught caught) {
  const Bug& bug = bug_named(name);
  const std::vector<float> right = bug.fixed();
  for (const emu::Mode& mode : emu::all_modes(7)) {
    const emu::ScopedMode scoped(mode);
    INFO(name << ", " << emu::text_of(mode));
    CHECK(equal(bug.broken(), right) == !caught(mode));
  }
}

TEST_CASE("fixed kernels give the same right results in every mode", "[unit]") {
  float block_sum = 0;
  for (const float value : numbers(kThreads)) block_sum += value;
  float tile_row = 0;  // row 0 of all tiles
  for (int tile = 0; tile < kTiles; ++tile) {
    for (int i = 0; i < 16; ++i) tile_row += static_cast<float>((tile * kTile + i) * 7 % 13);
  }
  for (const emu::Mode& mode : emu::all_modes(3)) {
    const emu::ScopedMode scoped(mode);
    INFO(emu::text_of(mode));
    CHECK(bug_named("block_sum").fixed() == std::vector<float>(kThreads, block_sum));
    CHECK(bug_named("double_buffer").fixed()[0] == tile_row);
    CHECK(bug_named("no_wait").fixed()[0] == numbers(kThreads)[kThreads - 1]);
    CHECK(bug_named("neighbour").fixed()[5] == numbers(kThreads)[4]);
    CHECK(bug_named("half_warp").fixed()[1] == numbers(kThreads)[1] + numbers(kThreads)[9]);
  }
}

TEST_CASE("a missing barrier between two phases is caught in every order", "[unit]") {
  expect("block_sum", [](const emu::Mode&) { return true; });
  expect("combine", [](const emu::Mode&) { return true; });
  expect("neighbour", [](const emu::Mode&) { return true; });
}

TEST_CASE("a missing cp.async wait is caught by deferred copies, and by them only", "[unit]") {
  expect("no_wait", [](const emu::Mode& mode) { return mode.deferred_copies; });
}

TEST_CASE("a double buffer's missing barrier is caught by warp-first orders with eager copies, "
          "and hidden by fair ones", "[unit]") {
  expect("double_buffer",
         [](const emu::Mode& mode) { return !fair(mode) && !mode.deferred_copies; });
}

TEST_CASE("a full-mask shuffle that half a warp reaches is a fault with block, warp and lanes",
          "[unit]") {
  for (const emu::Mode& mode : emu::all_modes()) {
    const emu::ScopedMode scoped(mode);
    INFO(emu::text_of(mode));
    try {
      bug_named("half_warp").broken();
      FAIL_CHECK("no fault");
    } catch (const emu::Fault& fault) {
      CHECK(fault.where().arrived == 0x0000ffffu);
      CHECK(fault.where().mask == 0xffffffffu);
      CHECK(fault.where().warp >= 0);
      CHECK_THAT(fault.what(), ContainsSubstring("shuffle was reached by 16 lanes (0000ffff) of "
                                                 "the 32 that its mask ffffffff names"));
      CHECK_THAT(fault.what(), ContainsSubstring("block (0, 0, 0)"));
    }
  }
}

}  // namespace
}  // namespace headway::kernels::planted
