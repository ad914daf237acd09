#include "sim/cli/sweep_progress.h"

#include <fmt/format.h>

#include "sim/cli/console.h"

namespace headway {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

std::string progress_text(const SweepCounts& c, double seconds) {
  const auto done = static_cast<double>(c.done()), total = static_cast<double>(c.total);
  std::string text = fmt::format("{} of {} points ({:.0f} %)", c.done(), c.total,
                                 total > 0 ? 100 * done / total : 100.0);
  if (c.refused > 0) text += fmt::format(", {} refused", c.refused);
  if (c.failed > 0) text += fmt::format(", {} failed", c.failed);
  const auto run = static_cast<double>(c.done() - c.found);
  if (run > 0 && seconds > 0) {
    text += fmt::format(", {:.3g} points/s, {} left", run / seconds,
                        duration_text((total - done) * seconds / run));
  }
  return text;
}

std::string counts_text(const SweepCounts& c) {
  std::string text = fmt::format("{} points: {} run", c.total, c.ok);
  if (c.found > 0) text += fmt::format(", {} finished before", c.found);
  if (c.refused > 0) text += fmt::format(", {} refused", c.refused);
  if (c.failed > 0) text += fmt::format(", {} failed", c.failed);
  return text;
}

SweepProgress::SweepProgress(bool enabled, const SweepCounts& counts)
    : enabled_(enabled), counts_(counts) {
  start_ = last_ = std::chrono::steady_clock::now();
  if (enabled_) draw();
}

void SweepProgress::add(PointStatus status) {
  counts_.add(status);
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kRedraw) return;
  last_ = now;
  draw();
}

void SweepProgress::draw() {
  const auto gone = std::chrono::steady_clock::now() - start_;
  print_err("\r\x1b[K" + progress_text(counts_, std::chrono::duration<double>(gone).count()));
  drawn_ = true;
}

void SweepProgress::wipe() {
  if (drawn_) print_err("\r\x1b[K");
  drawn_ = false;
}

}  // namespace headway
