#include "sim/report/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/metrics/decode_run.h"

namespace headway {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr std::uint32_t kCallsPerLook = 256;  // reading the clock at each step would show up

}  // namespace

ProgressLine::ProgressLine(std::FILE* stream, bool enabled, std::int64_t total)
    : stream_(stream), enabled_(enabled), total_(total) {
  start_ = last_ = std::chrono::steady_clock::now();
}

ProgressLine::~ProgressLine() { wipe(); }

void ProgressLine::on_step(const StepRecord& step) { look(step.start + step.duration); }

void ProgressLine::on_decode_run(const DecodeRunRecord& run) { look(run.last_end); }

void ProgressLine::on_finish(const RequestRecord& request) {
  ++done_;
  look(request.finish);
}

void ProgressLine::on_end(SimTime /*now*/) { wipe(); }

void ProgressLine::look(SimTime now) {
  if (!enabled_) return;
  now_ = std::max(now_, now);
  if (++calls_ % kCallsPerLook != 0) return;
  const auto clock = std::chrono::steady_clock::now();
  if (clock - last_ < kRedraw) return;
  last_ = clock;
  draw(std::chrono::duration<double>(clock - start_).count());
}

void ProgressLine::draw(double wall_s) {
  std::string line = fmt::format("{} requests", done_);
  if (total_ > 0) {
    line = fmt::format("{} of {} requests ({:.0f} %)", done_, total_,
                       100.0 * static_cast<double>(done_) / static_cast<double>(total_));
  }
  line += fmt::format(", {:.0f} s simulated", now_.seconds());
  if (wall_s > 0) line += fmt::format(", {:.0f} x real time", now_.seconds() / wall_s);
  fmt::print(stream_, "\r\x1b[K{}", line);
  std::fflush(stream_);
  drawn_ = true;
}

void ProgressLine::wipe() {
  if (!drawn_) return;
  fmt::print(stream_, "\r\x1b[K");
  std::fflush(stream_);
  drawn_ = false;
}

}  // namespace headway
