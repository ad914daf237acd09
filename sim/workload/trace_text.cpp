#include "sim/workload/trace_text.h"

namespace headway {
namespace {

constexpr std::size_t kHeadLines = 64;  // a pretty-printed JSON file has its keys within these
constexpr std::size_t kHeadBytes = 1 << 16;

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

TraceText::TraceText(const std::string& path) : lines_(std::make_unique<LineReader>(path)) {
  std::string_view line;
  while (peeked_.size() < kHeadLines && head_.size() < kHeadBytes && lines_->next(line)) {
    if (blank(line)) continue;
    peeked_.emplace_back(lines_->line_number(), line);
    head_.append(line).push_back('\n');
  }
}

bool TraceText::next(std::string_view& line) {
  if (next_peeked_ < peeked_.size()) {
    line_number_ = peeked_[next_peeked_].first;
    line = peeked_[next_peeked_++].second;
    return true;
  }
  do {
    if (!lines_->next(line)) return false;
  } while (blank(line));
  line_number_ = lines_->line_number();
  return true;
}

}  // namespace headway
