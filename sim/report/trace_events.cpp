#include "sim/report/trace_events.h"

#include <charconv>
#include <cmath>
#include <cstddef>

namespace headway {
namespace {

constexpr std::size_t kTraceFlushBytes = 1 << 16;

}  // namespace

TraceEvents::TraceEvents(const std::string& path) : file_(path) {
  buffer_.reserve(kTraceFlushBytes + 1024);
  buffer_ = R"({"displayTimeUnit":"ms","traceEvents":[)";
}

void TraceEvents::integer(std::int64_t value) {
  char text[24];
  buffer_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void TraceEvents::open(std::string_view phase, std::string_view name, std::int64_t process,
                       std::int64_t thread) {
  buffer_ += events_++ == 0 ? "\n{\"ph\":\"" : ",\n{\"ph\":\"";
  buffer_ += phase;
  buffer_ += "\",\"name\":\"";
  buffer_ += name;
  buffer_ += "\",\"pid\":";
  integer(process);
  buffer_ += ",\"tid\":";
  integer(thread);
}

void TraceEvents::begin(std::string_view phase, std::string_view name, std::int64_t process,
                        std::int64_t thread, SimTime at) {
  open(phase, name, process, thread);
  time("ts", at);
}

void TraceEvents::text(std::string_view field, std::string_view value) {
  buffer_ += ",\"";
  buffer_ += field;
  buffer_ += "\":\"";
  buffer_ += value;
  buffer_ += '"';
}

// REQUIRES: not before the start of the simulation.
void TraceEvents::time(std::string_view field, SimTime value) {
  buffer_ += ",\"";
  buffer_ += field;
  buffer_ += "\":";
  integer(value.ns() / 1000);
  const auto rest = static_cast<int>(value.ns() % 1000);
  buffer_ += '.';
  for (const int digit : {rest / 100, rest / 10 % 10, rest % 10}) {
    buffer_ += static_cast<char>('0' + digit);
  }
}

void TraceEvents::id(std::uint64_t value) { text("id", std::to_string(value)); }

void TraceEvents::arguments(
    std::initializer_list<std::pair<std::string_view, double>> values) {
  buffer_ += ",\"args\":{";
  bool first = true;
  for (const auto& [name, value] : values) {
    if (!first) buffer_ += ',';
    first = false;
    buffer_ += '"';
    buffer_ += name;
    buffer_ += "\":";
    if (value == std::floor(value) && std::abs(value) < 1e15) {
      integer(static_cast<std::int64_t>(value));
    } else {
      char text[32];
      buffer_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
    }
  }
  buffer_ += '}';
}

void TraceEvents::end() {
  buffer_ += '}';
  if (buffer_.size() < kTraceFlushBytes) return;
  file_.write(buffer_);
  buffer_.clear();
}

void TraceEvents::name(std::int64_t process, std::int64_t thread, const std::string& name) {
  open("M", thread == 0 ? "process_name" : "thread_name", process, thread);
  buffer_ += ",\"args\":{\"name\":\"";
  buffer_ += name;
  buffer_ += "\"}";
  end();
}

void TraceEvents::place(std::int64_t process, std::int64_t place) {
  open("M", "process_sort_index", process, 0);
  arguments({{"sort_index", static_cast<double>(place)}});
  end();
}

void TraceEvents::commit() {
  buffer_ += "\n]}\n";
  file_.write(buffer_);
  buffer_.clear();
  file_.commit();
}

}  // namespace headway
