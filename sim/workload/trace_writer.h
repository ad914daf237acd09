#pragma once

#include <string>
#include <vector>

#include "sim/workload/request_source.h"

namespace headway {

class OutputFile;

// Writes requests in our own two trace forms; what is written reads back as the same requests.
//  csv       arrival_s,input_tokens,output_tokens and those optional columns that the requests use
//  mooncake  JSON lines; hash_ids or block_ids16 kept
// `columns` of the CSV have to be known before the first row: see TraceWriter::columns_used.
class TraceWriter {
 public:
  // Optional columns, in the order they are written.
  static constexpr const char* kOptional[] = {
      "session_id", "priority",        "prefix_group", "prefix_tokens", "tenant",   "think_time_s",
      "max_tokens", "acceptance_rate", "samples",      "beam_width",    "hash_ids", "block_ids16"};

  // Which of kOptional a request needs to come back as it is, added to `used` (a bit each).
  static void add_columns_used(const Request& request, std::uint32_t& used);

  static std::string csv_header(std::uint32_t used);
  static void append_csv(const Request& request, std::uint32_t used, std::string& line);
  static void append_mooncake(const Request& request, std::string& line);
};

// Reads `in` (a path or catalogue name, "auto" or a format's name) and writes it to `out` ("-" is
// stdout, .gz is compressed) as "csv" or "mooncake"; `to` "" takes it from the name of `out`
// (.jsonl: mooncake). The file appears whole or not at all. Returns the rows written.
std::int64_t convert_trace(const WorkloadOptions& in, const std::string& base_folder,
                           const std::string& out, const std::string& to,
                           std::vector<std::string>& notes);

// Writes the synthetic trace that `options` describe (synth.h), in constant memory, as
// convert_trace does; the CSV has a column tenant. Returns the rows written.
std::int64_t write_synth(const WorkloadOptions& options, std::uint64_t seed, const std::string& out,
                         const std::string& to);

}  // namespace headway
