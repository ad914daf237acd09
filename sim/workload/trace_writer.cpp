#include "sim/workload/trace_writer.h"

#include <charconv>
#include <iterator>

#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "sim/workload/synth.h"

namespace headway {
namespace {

enum Column : std::uint32_t {
  kSession,
  kPriority,
  kPrefixGroup,
  kPrefixTokens,
  kTenant,
  kThinkTime,
  kMaxTokens,
  kAcceptance,
  kSamples,
  kBeamWidth,
  kHash,
  kBlock16,
  kColumns
};
static_assert(kColumns == std::size(TraceWriter::kOptional));

constexpr std::uint32_t bit(Column column) { return 1U << column; }
constexpr std::int32_t kBlock16Tokens = 16;

template <typename Number>
void append_number(std::string& text, Number value) {
  char buffer[48];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  text.append(buffer, end);
}

// Nanoseconds in a larger unit of 10^digits of them, exactly, without needless zeros.
void append_time(std::string& text, SimTime time, int digits) {
  std::int64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  append_number(text, time.ns() / unit);
  std::int64_t rest = time.ns() % unit;
  if (rest == 0) return;
  text.push_back('.');
  while (rest > 0) {
    unit /= 10;
    text.push_back(static_cast<char>('0' + rest / unit));
    rest %= unit;
  }
}

void append_ids(std::string& text, const std::vector<std::uint64_t>& ids, char separator) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text.push_back(separator);
    append_number(text, ids[i]);
  }
}

void append_csv_column(const Request& r, Column column, std::string& line) {
  switch (column) {
    case kSession:
      if (r.session_id >= 0) append_number(line, r.session_id);
      return;
    case kPriority:
      append_number(line, r.priority);
      return;
    case kPrefixGroup:
      if (r.prefix_group >= 0) append_number(line, r.prefix_group);
      return;
    case kPrefixTokens:
      append_number(line, r.prefix_tokens);
      return;
    case kTenant:
      append_number(line, r.tenant);
      return;
    case kThinkTime:
      append_time(line, r.think_time, 9);
      return;
    case kMaxTokens:
      append_number(line, r.max_tokens);
      return;
    case kAcceptance:
      if (r.acceptance_rate >= 0) append_number(line, r.acceptance_rate);
      return;
    case kSamples:
      append_number(line, r.samples);
      return;
    case kBeamWidth:
      append_number(line, r.beam_width);
      return;
    case kHash:
      if (r.content_granularity != kBlock16Tokens) append_ids(line, r.content_ids, ' ');
      return;
    case kBlock16:
      if (r.content_granularity == kBlock16Tokens) append_ids(line, r.content_ids, ' ');
      return;
    case kColumns:
      return;
  }
}

template <typename Number>
void append_key(std::string& line, const char* key, Number value) {
  line.append(", \"").append(key).append("\": ");
  append_number(line, value);
}

bool to_mooncake(const std::string& out, const std::string& to) {
  if (to == "mooncake") return true;
  if (to == "csv") return false;
  if (!to.empty()) throw InputError({"command line", "--to", "\"" + to + "\"", "csv or mooncake"});
  return out.ends_with(".jsonl") || out.ends_with(".jsonl.gz");
}

// What the forms cannot say is refused, not dropped.
void check_writable(const Request& r, std::int32_t& granularity) {
  const std::string place = "request " + std::to_string(r.id);
  if (!r.output_ids.empty() || r.content_granularity == 1) {
    throw InputError({"", place, "ids of single tokens", "ids of blocks, or none"});
  }
  if (r.content_granularity == 0 || r.content_granularity == kBlock16Tokens) return;
  if (granularity == 0) granularity = r.content_granularity;
  if (granularity != r.content_granularity) {
    throw InputError({"", place, "a second block size of the hash ids", "one block size"});
  }
}

}  // namespace

void TraceWriter::add_columns_used(const Request& r, std::uint32_t& used) {
  const auto need = [&used](bool needed, Column column) {
    if (needed) used |= bit(column);
  };
  need(r.session_id >= 0, kSession);
  need(r.priority != 0, kPriority);
  need(r.prefix_group >= 0, kPrefixGroup);
  need(r.prefix_tokens != 0, kPrefixTokens);
  need(r.tenant != 0, kTenant);
  need(r.think_time != SimTime(), kThinkTime);
  need(r.max_tokens != 0, kMaxTokens);
  need(r.acceptance_rate >= 0, kAcceptance);
  need(r.samples > 1, kSamples);
  need(r.beam_width > 1, kBeamWidth);
  need(!r.content_ids.empty() && r.content_granularity != kBlock16Tokens, kHash);
  need(!r.content_ids.empty() && r.content_granularity == kBlock16Tokens, kBlock16);
}

std::string TraceWriter::csv_header(std::uint32_t used) {
  std::string header = "arrival_s,input_tokens,output_tokens";
  for (std::uint32_t i = 0; i < kColumns; ++i) {
    if ((used & (1U << i)) != 0) header.append(",").append(kOptional[i]);
  }
  return header + "\n";
}

void TraceWriter::append_csv(const Request& r, std::uint32_t used, std::string& line) {
  append_time(line, r.arrival, 9);
  line.push_back(',');
  append_number(line, r.prompt_tokens);
  line.push_back(',');
  append_number(line, r.output_tokens);
  for (std::uint32_t i = 0; i < kColumns; ++i) {
    if ((used & (1U << i)) == 0) continue;
    line.push_back(',');
    append_csv_column(r, static_cast<Column>(i), line);
  }
  line.push_back('\n');
}

void TraceWriter::append_mooncake(const Request& r, std::string& line) {
  line.append("{\"timestamp\": ");
  append_time(line, r.arrival, 6);
  append_key(line, "input_length", r.prompt_tokens);
  append_key(line, "output_length", r.output_tokens);
  if (r.session_id >= 0) append_key(line, "session_id", r.session_id);
  if (r.think_time != SimTime()) {
    line.append(", \"delay\": ");
    append_time(line, r.think_time, 6);
  }
  if (r.priority != 0) append_key(line, "priority", r.priority);
  if (r.tenant != 0) append_key(line, "tenant", r.tenant);
  if (r.max_tokens != 0) append_key(line, "max_tokens", r.max_tokens);
  if (r.acceptance_rate >= 0) append_key(line, "acceptance_rate", r.acceptance_rate);
  if (r.samples > 1) append_key(line, "samples", r.samples);
  if (r.beam_width > 1) append_key(line, "beam_width", r.beam_width);
  if (r.prefix_group >= 0) append_key(line, "prefix_group", r.prefix_group);
  if (r.prefix_tokens != 0) append_key(line, "prefix_tokens", r.prefix_tokens);
  if (!r.content_ids.empty()) {
    const bool blocks16 = r.content_granularity == kBlock16Tokens;
    line.append(blocks16 ? ", \"block_ids16\": [" : ", \"hash_ids\": [");
    append_ids(line, r.content_ids, ',');
    line.push_back(']');
  }
  line.append("}\n");
}

namespace {

// Writes all of the source. The file appears whole or not at all.
std::int64_t write_trace(RequestSource& source, std::uint32_t used, bool mooncake,
                         const std::string& out, std::vector<std::string>& notes) {
  OutputFile file(out);
  std::string buffer = mooncake ? std::string() : TraceWriter::csv_header(used);
  std::int64_t rows = 0;
  std::int32_t granularity = 0;
  constexpr std::size_t kFlush = 1 << 16;
  while (const auto r = source.next()) {
    check_writable(*r, granularity);
    if (mooncake) {
      TraceWriter::append_mooncake(*r, buffer);
    } else {
      TraceWriter::append_csv(*r, used, buffer);
    }
    ++rows;
    if (buffer.size() < kFlush) continue;
    file.write(buffer);
    buffer.clear();
  }
  file.write(buffer);
  file.commit();
  if (granularity != 0 && granularity != 512) {
    notes.push_back(out + ": hash ids name blocks of " + std::to_string(granularity) +
                    " tokens: read it with hash_block_size " + std::to_string(granularity));
  }
  return rows;
}

}  // namespace

std::int64_t convert_trace(const WorkloadOptions& in, const std::string& base_folder,
                           const std::string& out, const std::string& to,
                           std::vector<std::string>& notes) {
  const bool mooncake = to_mooncake(out, to);
  std::uint32_t used = 0;
  if (!mooncake) {
    // A first reading tells which columns there are. (A pipe cannot be read twice.)
    if (in.trace == "-") {
      throw InputError({"standard input", "", "a pipe", "a file, or --to mooncake"});
    }
    std::vector<std::string> said_later;
    const auto source = open_workload(in, base_folder, 0, said_later);
    while (const auto r = source->next()) TraceWriter::add_columns_used(*r, used);
  }
  const auto source = open_workload(in, base_folder, 0, notes);
  return write_trace(*source, used, mooncake, out, notes);
}

std::int64_t write_synth(const WorkloadOptions& options, std::uint64_t seed, const std::string& out,
                         const std::string& to) {
  const bool mooncake = to_mooncake(out, to);
  std::vector<std::string> notes;
  const auto source = open_synth(options, seed);
  return write_trace(*source, bit(kTenant), mooncake, out, notes);
}

}  // namespace headway
