#include "sim/workload/trace_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/workload/trace_format.h"

namespace headway {
namespace fs = std::filesystem;
namespace {

// What the first reading found.
struct Scan {
  std::string format;
  std::int64_t rows = 0;  // without failed ones
  std::int64_t failed = 0;
  std::int64_t out_of_order = 0;
  SimTime first = SimTime::never();
  SimTime lateness;   // a row comes at most this much behind a later one
  bool held = false;  // the rows are in memory: the file cannot be read again
  std::vector<Request> rows_held;
};

bool can_reread(const std::string& path) {
  struct stat info {};
  return path != "-" && stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// The next row that has not failed.
bool next_good(TraceReader& reader, TraceRow& row) {
  while (reader.next(row)) {
    if (!row.failed) return true;
  }
  return false;
}

TraceReadOptions read_options(const WorkloadOptions& options) {
  TraceReadOptions result;
  if (options.hash_block_size > 0) result.hash_block_size = options.hash_block_size;
  return result;
}

void refuse_failed(const TraceReader& reader) {
  bad_field(reader.place(), "a failed request (no output tokens)",
            "at least 1, or failed_rows: \"skip\"");
}

Scan scan_trace(const std::string& path, const WorkloadOptions& options,
                std::vector<std::string>& notes) {
  TraceText text(path);
  const TraceFormat& format = choose_trace_format(options.format, text);
  const auto reader = format.open(std::move(text), read_options(options), notes);
  Scan scan;
  scan.format = format.name;
  scan.held = !can_reread(path);
  SimTime latest = SimTime::from_ns(0);
  TraceRow row;
  while (reader->next(row)) {
    if (row.failed) {
      if (options.failed_rows == "error") refuse_failed(*reader);
      ++scan.failed;
      continue;
    }
    const SimTime arrival = row.request.arrival;
    scan.first = std::min(scan.first, arrival);
    if (scan.rows > 0 && arrival < latest) {
      ++scan.out_of_order;
      scan.lateness = std::max(scan.lateness, latest - arrival);
    }
    latest = std::max(latest, arrival);
    ++scan.rows;
    if (scan.held) scan.rows_held.push_back(std::move(row.request));
  }
  return scan;
}

// The rows once more, in order of arrival.
class OrderedRows {
 public:
  OrderedRows(const std::string& path, const WorkloadOptions& options, Scan scan)
      : scan_(std::move(scan)) {
    if (scan_.held) return;
    TraceText text(path);
    std::vector<std::string> said_already;
    const TraceFormat& format = choose_trace_format(scan_.format, text);
    reader_ = format.open(std::move(text), read_options(options), said_already);
  }

  bool next(Request& request) {
    if (scan_.out_of_order == 0) return read(request);
    // A row may leave once no row to come can be earlier.
    while (!ended_ && (heap_.empty() || heap_.front().request.arrival > latest_ - scan_.lateness)) {
      Entry entry;
      if (!read(entry.request)) {
        ended_ = true;
        break;
      }
      entry.row = row_++;
      latest_ = std::max(latest_, entry.request.arrival);
      heap_.push_back(std::move(entry));
      std::push_heap(heap_.begin(), heap_.end(), Later{});
    }
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    request = std::move(heap_.back().request);
    heap_.pop_back();
    return true;
  }

 private:
  struct Entry {
    Request request;
    std::int64_t row = 0;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.request.arrival != b.request.arrival) return a.request.arrival > b.request.arrival;
      return a.row > b.row;
    }
  };

  bool read(Request& request) {
    if (reader_ != nullptr) {
      if (!next_good(*reader_, spare_)) return false;
      request = std::move(spare_.request);
      return true;
    }
    if (next_held_ == scan_.rows_held.size()) return false;
    request = std::move(scan_.rows_held[next_held_++]);
    return true;
  }

  Scan scan_;
  std::unique_ptr<TraceReader> reader_;
  TraceRow spare_;
  std::size_t next_held_ = 0;
  std::vector<Entry> heap_;
  SimTime latest_;
  std::int64_t row_ = 0;
  bool ended_ = false;
};

class TraceSource final : public RequestSource {
 public:
  TraceSource(const std::string& path, const WorkloadOptions& options, Scan scan)
      : path_(path), options_(options) {
    if (scan.rows == 0) throw InputError({path_, "", "no request", "at least one"});
    keep_from_ = scan.first + SimTime::from_seconds(options.offset_s);
    if (options.offset_s <= 0) size_ = scan.rows;
    if (size_ >= 0 && options.limit > 0) size_ = std::min(size_, options.limit);
    const std::int64_t rows = scan.rows;
    rows_ = std::make_unique<OrderedRows>(path, options, std::move(scan));
    ahead_ = read();
    if (ahead_) return;
    std::string found = "no request of " + std::to_string(rows);
    found += " after the first " + std::to_string(options.offset_s) + " s (workload.offset)";
    throw InputError({path_, "", found, "at least one"});
  }

  std::optional<Request> next() override {
    std::optional<Request> result = std::move(ahead_);
    if (result) ahead_ = read();
    return result;
  }
  std::int64_t size_hint() const override { return size_; }

 private:
  std::optional<Request> read() {
    if (options_.limit > 0 && count_ == options_.limit) return std::nullopt;
    Request request;
    do {
      if (!rows_->next(request)) return std::nullopt;
    } while (request.arrival < keep_from_);
    if (count_ == 0) base_ = request.arrival;
    request.arrival = scaled(request.arrival - base_);
    request.id = static_cast<std::uint64_t>(count_++);
    return request;
  }

  SimTime scaled(SimTime gap) const {
    if (options_.rate_scale == 1.0) return gap;
    const double seconds = gap.seconds() / options_.rate_scale;
    constexpr double kLongest = 4e9;
    if (seconds > kLongest) {
      throw InputError({"", "workload.rate_scale", std::to_string(options_.rate_scale),
                        "a scale that keeps the last arrival below 4e9 s"});
    }
    return SimTime::from_ns(std::llround(static_cast<double>(gap.ns()) / options_.rate_scale));
  }

  std::string path_;
  WorkloadOptions options_;
  std::unique_ptr<OrderedRows> rows_;
  SimTime keep_from_, base_;
  std::int64_t count_ = 0;
  std::int64_t size_ = -1;
  std::optional<Request> ahead_;
};

void check_trace_options(const WorkloadOptions& o) {
  const auto fail = [](const char* key, const std::string& found, const char* expected) {
    throw InputError({"", std::string("workload.") + key, found, expected});
  };
  if (!(o.rate_scale > 0) || !std::isfinite(o.rate_scale)) {
    fail("rate_scale", std::to_string(o.rate_scale), "a number above 0");
  }
  if (o.limit < 0) fail("limit", std::to_string(o.limit), "0 (all) or more requests");
  if (!(o.offset_s >= 0 && o.offset_s < 4e9)) {
    fail("offset", std::to_string(o.offset_s), "0 or more seconds");
  }
  if (o.hash_block_size < 0 || o.hash_block_size > kMaxRowTokens) {
    fail("hash_block_size", std::to_string(o.hash_block_size),
         "0 (the format's own) or more tokens");
  }
  if (o.failed_rows != "skip" && o.failed_rows != "error") {
    fail("failed_rows", "\"" + o.failed_rows + "\"", "skip or error");
  }
}

void add_notes(const std::string& path, const Scan& scan, std::vector<std::string>& notes) {
  const auto rows = [](std::int64_t n) { return std::to_string(n) + (n == 1 ? " row" : " rows"); };
  if (scan.out_of_order > 0) {
    notes.push_back(path + ": " + rows(scan.out_of_order) + " out of order, sorted by arrival");
  }
  if (scan.failed > 0) {
    notes.push_back(path + ": " + rows(scan.failed) +
                    " of failed requests (no output tokens) left out");
  }
}

}  // namespace

std::unique_ptr<RequestSource> open_trace(const std::string& path, const WorkloadOptions& options,
                                          std::vector<std::string>& notes) {
  check_trace_options(options);
  Scan scan = scan_trace(path, options, notes);
  add_notes(path, scan, notes);
  return std::make_unique<TraceSource>(path, options, std::move(scan));
}

std::string find_trace(const std::string& trace, const std::string& base_folder) {
  if (trace == "-") return trace;
  std::error_code ec;
  const fs::path path = fs::path(base_folder) / trace;
  if (fs::exists(path, ec)) return path.string();
  for (const char* end : {"", ".csv.gz", ".jsonl.gz", ".csv", ".jsonl"}) {
    const fs::path entry = fs::path(data_folder("traces")) / (trace + end);
    if (fs::is_regular_file(entry, ec)) return entry.string();
  }
  throw InputError({trace, "", "neither a file nor a trace of the catalogue",
                    "a path, or " + one_of(trace, catalogue_names("traces"))});
}

}  // namespace headway
