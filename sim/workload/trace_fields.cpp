#include "sim/workload/trace_fields.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "sim/core/errors.h"
#include "sim/core/hash.h"

namespace headway {
namespace {

constexpr std::int64_t kMaxSeconds = 4'000'000'000;  // leaves room to subtract and to scale
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kNsPerMs = 1'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool parse_double(std::string_view text, double& value) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

// A whole number; "374.0", as tables that once held a gap write it, is one too.
bool parse_whole(std::string_view text, std::int64_t& value) {
  const char* stop = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), stop, value);
  if (error != std::errc() || end == text.data()) return false;
  if (end == stop) return true;
  if (*end != '.' || end + 1 == stop) return false;
  for (const char* p = end + 1; p != stop; ++p) {
    if (*p != '0') return false;
  }
  return true;
}

std::int64_t whole(std::string_view text, std::int64_t low, std::int64_t high, const char* what,
                   const FieldPlace& place) {
  std::int64_t value = 0;
  if (!parse_whole(text, value) || value < low || value > high) {
    bad_field(place, text,
              std::string(what) + " from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

std::int32_t tokens(std::string_view text, std::int64_t low, const FieldPlace& place) {
  return static_cast<std::int32_t>(
      whole(text, low, kMaxRowTokens, "a whole number of tokens", place));
}

std::int32_t small(std::string_view text, std::int64_t low, const FieldPlace& place) {
  return static_cast<std::int32_t>(
      whole(text, low, std::numeric_limits<std::int32_t>::max(), "a whole number", place));
}

SimTime duration(std::string_view text, std::int64_t unit_ns, const char* what,
                 const FieldPlace& place) {
  std::int64_t ns = 0;
  if (!parse_time_ns(text, unit_ns, ns) || ns < 0) {
    bad_field(place, text, std::string(what) + ", zero or more");
  }
  return SimTime::from_ns(ns);
}

// A user's pause. Pauses add up over a session, so that each has to stay far below what a clock
// holds.
SimTime pause(std::string_view text, std::int64_t unit_ns, const char* what,
              const FieldPlace& place) {
  constexpr std::int64_t kLongest_s = 100'000'000;
  const SimTime time = duration(text, unit_ns, what, place);
  if (time.ns() > kLongest_s * kNsPerSecond) bad_field(place, text, "a pause of at most 1e8 s");
  return time;
}

std::int64_t session_of(std::string_view text) {
  if (text.empty() || text == "-1") return -1;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  return static_cast<std::int64_t>(mix64(hash_name(text)) >> 1);  // a name: any stable number does
}

float rate(std::string_view text, const FieldPlace& place) {
  double value = 0;
  if (!parse_double(text, value) || value < 0 || value > 1) {
    bad_field(place, text, "a share from 0 to 1");
  }
  return static_cast<float>(value);
}

// Days from 1970-01-01 (H. Hinnant, "chrono-compatible low-level date algorithms").
std::int64_t days_from_civil(std::int64_t y, std::int64_t m, std::int64_t d) {
  y -= m <= 2 ? 1 : 0;
  const std::int64_t era = y / 400;
  const std::int64_t yoe = y - era * 400;
  const std::int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

// `count` digits at `at`, as a number; -1 when there are other characters.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (!is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// The zone behind a timestamp, in seconds east of UTC.
bool parse_zone(std::string_view zone, std::int64_t& seconds) {
  seconds = 0;
  if (zone.empty() || zone == "Z") return true;
  if (zone.size() < 3 || (zone[0] != '+' && zone[0] != '-')) return false;
  const int hours = digits(zone, 1, 2);
  int minutes = 0;
  if (zone.size() > 3) {
    const std::size_t at = zone[3] == ':' ? 4 : 3;
    minutes = zone.size() == at + 2 ? digits(zone, at, 2) : -1;
  }
  if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return false;
  seconds = (zone[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
  return true;
}

}  // namespace

std::string FieldPlace::text() const {
  std::string place = "line " + std::to_string(line);
  if (!column.empty()) place += ", column " + std::string(column);
  return place;
}

void bad_field(const FieldPlace& place, std::string_view found, const std::string& expected) {
  constexpr std::size_t kShown = 60;
  std::string shown(found.substr(0, kShown));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  }
  if (found.size() > kShown) shown += "...";
  throw InputError({place.path, place.text(), "\"" + shown + "\"", expected});
}

bool parse_time_ns(std::string_view text, std::int64_t unit_ns, std::int64_t& ns) {
  const bool negative = !text.empty() && text.front() == '-';
  std::size_t i = negative ? 1 : 0;
  const std::int64_t limit = kMaxSeconds * (kNsPerSecond / unit_ns);
  std::int64_t value = 0;
  const std::size_t start = i;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    if (value > (limit - 9) / 10) return false;
    value = value * 10 + (text[i] - '0');
  }
  std::size_t any = i - start;
  value *= unit_ns;
  if (i < text.size() && text[i] == '.') {
    std::int64_t place = unit_ns;
    for (++i; i < text.size() && is_digit(text[i]); ++i, ++any) {
      if (place == 0) continue;
      const std::int64_t digit = text[i] - '0';
      if (place >= 10) {
        place /= 10;
        value += digit * place;
      } else {
        value += digit >= 5 ? 1 : 0;  // the first digit below a nanosecond rounds
        place = 0;
      }
    }
  }
  if (any > 0 && i == text.size()) {
    ns = negative ? -value : value;
    return true;
  }
  double number = 0;  // an exponent, or no number at all
  if (!parse_double(text, number)) return false;
  number *= static_cast<double>(unit_ns);
  if (std::abs(number) > static_cast<double>(kMaxSeconds) * 1e9) return false;
  ns = std::llround(number);
  return true;
}

bool parse_timestamp_ns(std::string_view text, std::int64_t& ns) {
  constexpr std::size_t kWhole = 19;  // YYYY-MM-DD HH:MM:SS
  if (text.size() < kWhole || text[4] != '-' || text[7] != '-' ||
      (text[10] != ' ' && text[10] != 'T') || text[13] != ':' || text[16] != ':') {
    return false;
  }
  const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (year < 1970 || year > 2090 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 ||
      hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) {
    return false;
  }
  std::int64_t fraction_ns = 0;
  std::size_t end = kWhole;
  if (text.size() > kWhole && text[kWhole] == '.') {
    for (end = kWhole + 1; end < text.size() && is_digit(text[end]);) ++end;
    if (!parse_time_ns(text.substr(kWhole, end - kWhole), kNsPerSecond, fraction_ns)) return false;
  }
  std::int64_t zone_s = 0;
  if (!parse_zone(text.substr(end), zone_s)) return false;
  const std::int64_t seconds =
      days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - zone_s;
  ns = seconds * kNsPerSecond + fraction_ns;
  return true;
}

void set_field(TraceRow& row, TraceField field, std::string_view text, const FieldPlace& place) {
  Request& r = row.request;
  switch (field) {
    case TraceField::kInputTokens:
      r.prompt_tokens = tokens(text, 0, place);
      return;
    case TraceField::kOutputTokens:
      r.output_tokens = tokens(text, 0, place);
      return;
    case TraceField::kArrivalS:
    case TraceField::kArrivalMs:
    case TraceField::kArrivalNs: {
      const bool ms = field == TraceField::kArrivalMs;
      r.arrival = field == TraceField::kArrivalS ? duration(text, kNsPerSecond, "seconds", place)
                  : ms                           ? duration(text, kNsPerMs, "milliseconds", place)
                                                 : duration(text, 1, "nanoseconds", place);
      row.has_arrival = true;
      return;
    }
    case TraceField::kTimestamp: {
      std::int64_t ns = 0;
      if (!parse_timestamp_ns(text, ns)) {
        bad_field(place, text, "a time as 2023-11-16 18:15:46.6805900, with or without a zone");
      }
      r.arrival = SimTime::from_ns(ns);
      row.has_arrival = true;
      return;
    }
    default:
      break;
  }
  if (text.empty()) return;  // the others are optional
  switch (field) {
    case TraceField::kMaxTokens:
      r.max_tokens = tokens(text, 0, place);
      return;
    case TraceField::kSessionId:
      r.session_id = session_of(text);
      return;
    case TraceField::kPriority:
      r.priority = small(text, std::numeric_limits<std::int32_t>::min(), place);
      return;
    case TraceField::kTenant:
      r.tenant = small(text, 0, place);
      return;
    case TraceField::kThinkTimeS:
      r.think_time = pause(text, kNsPerSecond, "seconds", place);
      return;
    case TraceField::kThinkTimeMs:
      r.think_time = pause(text, kNsPerMs, "milliseconds", place);
      return;
    case TraceField::kPrefixGroup:
      r.prefix_group = small(text, -1, place);
      return;
    case TraceField::kPrefixTokens:
      r.prefix_tokens = tokens(text, 0, place);
      return;
    case TraceField::kSamples:
      r.samples = static_cast<std::int32_t>(
          whole(text, 1, kMaxSequences, "a whole number of samples", place));
      return;
    case TraceField::kBeamWidth:
      r.beam_width = static_cast<std::int32_t>(
          whole(text, 0, kMaxSequences, "a whole number of beams", place));
      return;
    case TraceField::kAcceptanceRate:
      r.acceptance_rate = rate(text, place);
      return;
    default:
      return;
  }
}

bool is_id_field(TraceField field) {
  return field == TraceField::kHashIds || field == TraceField::kBlockIds16 ||
         field == TraceField::kTokenIds || field == TraceField::kOutputIds;
}

void add_id(TraceRow& row, TraceField field, std::uint64_t id, std::int32_t hash_block_size) {
  Request& r = row.request;
  if (field == TraceField::kOutputIds) {
    r.output_ids.push_back(id);
    return;
  }
  r.content_granularity = field == TraceField::kHashIds      ? hash_block_size
                          : field == TraceField::kBlockIds16 ? 16
                                                             : 1;
  r.content_ids.push_back(id);
}

void set_ids(TraceRow& row, TraceField field, std::string_view text, std::int32_t hash_block_size,
             const FieldPlace& place) {
  (field == TraceField::kOutputIds ? row.request.output_ids : row.request.content_ids).clear();
  const char* p = text.data();
  const char* stop = p + text.size();
  while (p != stop) {
    if (*p == ' ') {
      ++p;
      continue;
    }
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(p, stop, id);
    if (error != std::errc() || (end != stop && *end != ' ')) {
      bad_field(place, std::string_view(p, static_cast<std::size_t>(stop - p)),
                "ids (whole numbers) separated by blanks");
    }
    add_id(row, field, id, hash_block_size);
    p = end;
  }
}

void check_sequences(std::int32_t samples, std::int32_t beam_width, const std::string& file,
                     const std::string& place) {
  if (samples <= 1 || beam_width <= 1) return;
  throw InputError({file, place,
                    std::to_string(samples) + " samples of a search of " +
                        std::to_string(beam_width) + " beams",
                    "samples or a beam_width, not both"});
}

void check_row(TraceRow& row, const FieldPlace& place) {
  const Request& r = row.request;
  if (r.output_tokens == 0) row.failed = true;
  if (row.failed) return;
  check_sequences(r.samples, r.beam_width, place.path, place.text());
  if (r.prompt_tokens < 1) bad_field(place, "0 prompt tokens", "at least 1");
  if (r.prefix_tokens > r.prompt_tokens) {
    bad_field(place, std::to_string(r.prefix_tokens) + " prefix tokens",
              "at most the " + std::to_string(r.prompt_tokens) + " tokens of the prompt");
  }
  if (r.content_granularity > 0) {
    const std::int64_t blocks =
        (std::int64_t{r.prompt_tokens} + r.content_granularity - 1) / r.content_granularity;
    if (static_cast<std::int64_t>(r.content_ids.size()) > blocks) {
      bad_field(place, std::to_string(r.content_ids.size()) + " block ids",
                "at most " + std::to_string(blocks) + " (" + std::to_string(r.prompt_tokens) +
                    " prompt tokens in blocks of " + std::to_string(r.content_granularity) + ")");
    }
  }
  if (static_cast<std::int64_t>(r.output_ids.size()) > r.output_tokens) {
    bad_field(place, std::to_string(r.output_ids.size()) + " output ids",
              "at most the " + std::to_string(r.output_tokens) + " output tokens");
  }
}

}  // namespace headway
