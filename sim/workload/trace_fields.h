#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/workload/request.h"

namespace headway {

// What a column of a log (or a key of a JSON row) says about a request, with its unit.
enum class TraceField : std::uint8_t {
  kIgnored,
  kArrivalS,  // seconds
  kArrivalMs,
  kArrivalNs,
  kTimestamp,  // "2023-11-16 18:15:46.6805900", with or without a zone: Z, +00:00
  kInputTokens,
  kOutputTokens,  // 0 = the request failed
  kMaxTokens,
  kSessionId,  // a number or any text; empty or -1 = none
  kPriority,
  kTenant,
  kThinkTimeS,
  kThinkTimeMs,
  kPrefixGroup,
  kPrefixTokens,
  kAcceptanceRate,
  kSamples,
  kBeamWidth,
  kHashIds,     // ids of blocks of the format's (or the user's) size
  kBlockIds16,  // ids of blocks of 16 tokens
  kTokenIds,    // ids of single prompt tokens
  kOutputIds,   // ids of single output tokens
};

// Larger than any context in use; what is above is a fault of the log.
inline constexpr std::int64_t kMaxRowTokens = std::int64_t{1} << 24;

// Of one request. More would be a fault of the log.
inline constexpr std::int64_t kMaxSequences = 1024;

// InputError for parallel samples of a beam search: an engine does one or the other.
void check_sequences(std::int32_t samples, std::int32_t beam_width, const std::string& file,
                     const std::string& place);

// One row of a log. `request.arrival` is on the log's own clock.
struct TraceRow {
  Request request;
  bool has_arrival = false;
  bool failed = false;  // no answer: counted, not replayed
};

// Where a value stands, for messages.
struct FieldPlace {
  const std::string& path;
  std::int64_t line;
  std::string_view column;   // "" = the whole row
  std::string text() const;  // "line 12, column input_tokens"
};

[[noreturn]] void bad_field(const FieldPlace& place, std::string_view found,
                            const std::string& expected);

// Reads scalar `text` into the row. Strict: InputError for what is not a number, not finite,
// negative where that has no meaning, or beyond kMaxRowTokens. An empty optional field is unset.
void set_field(TraceRow& row, TraceField field, std::string_view text, const FieldPlace& place);

// Adds one id of an array field. `hash_block_size` is the block size of kHashIds.
void add_id(TraceRow& row, TraceField field, std::uint64_t id, std::int32_t hash_block_size);
// Ids separated by blanks, as a CSV field holds them.
void set_ids(TraceRow& row, TraceField field, std::string_view text, std::int32_t hash_block_size,
             const FieldPlace& place);
bool is_id_field(TraceField field);

// The checks that need the whole row: a prompt that is there, no more ids than it has blocks ...
void check_row(TraceRow& row, const FieldPlace& place);

// "12.345" in units of `unit_ns` (1, 10^6 or 10^9) to whole nanoseconds, exactly where the text has
// no exponent. False when it is no finite number or beyond 4e9 s.
bool parse_time_ns(std::string_view text, std::int64_t unit_ns, std::int64_t& ns);
// "YYYY-MM-DD HH:MM:SS[.f...][Z|+HH:MM|-HH:MM]" to nanoseconds since 1970 (UTC).
bool parse_timestamp_ns(std::string_view text, std::int64_t& ns);

}  // namespace headway
