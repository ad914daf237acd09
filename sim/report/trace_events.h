#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "sim/core/output_file.h"
#include "sim/core/sim_time.h"

namespace headway {

// Events of Chrome's trace format into an OutputFile, one after the other: begin(), its other fields,
// end(). Names are ours and need no escaping. Times are written in microseconds with three decimals,
// which is all that a whole nanosecond has.
class TraceEvents {
 public:
  explicit TraceEvents(const std::string& path);

  void begin(std::string_view phase, std::string_view name, std::int64_t process,
             std::int64_t thread, SimTime at);
  void text(std::string_view field, std::string_view value);
  void time(std::string_view field, SimTime value);
  void id(std::uint64_t value);
  // Whole numbers are written as such.
  void arguments(std::initializer_list<std::pair<std::string_view, double>> values);
  void end();
  // The name of a process (thread 0) or of a thread.
  void name(std::int64_t process, std::int64_t thread, const std::string& name);
  // Processes are shown in the order of `place`; without it, in that of their names.
  void place(std::int64_t process, std::int64_t place);

  std::int64_t events() const { return events_; }
  void commit();

 private:
  void open(std::string_view phase, std::string_view name, std::int64_t process,
            std::int64_t thread);
  void integer(std::int64_t value);

  OutputFile file_;
  std::string buffer_;
  std::int64_t events_ = 0;
};

}  // namespace headway
