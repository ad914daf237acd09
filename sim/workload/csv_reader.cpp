#include "sim/workload/csv_reader.h"

#include <algorithm>
#include <cstring>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Cuts a line into fields, one after the other, without copying (but for doubled quotes).
class Splitter {
 public:
  explicit Splitter(std::string_view line) : rest_(line) {}

  // False after the last field, and for a quote that does not close (then broken() is true).
  bool next(std::string_view& field) {
    if (done_) return false;
    const char* start = rest_.data();
    const auto* comma = static_cast<const char*>(std::memchr(start, ',', rest_.size()));
    const std::size_t size =
        comma != nullptr ? static_cast<std::size_t>(comma - start) : rest_.size();
    field = trimmed(rest_.substr(0, size));
    if (!field.empty() && field.front() == '"') return quoted(field);
    done_ = comma == nullptr;
    rest_.remove_prefix(done_ ? size : size + 1);
    return true;
  }
  bool broken() const { return broken_; }

 private:
  bool quoted(std::string_view& field) {
    std::size_t i = rest_.find('"') + 1;
    unquoted_.clear();
    for (;; ++i) {
      if (i >= rest_.size()) return fail();
      if (rest_[i] != '"') {
        unquoted_.push_back(rest_[i]);
      } else if (i + 1 < rest_.size() && rest_[i + 1] == '"') {
        unquoted_.push_back(rest_[i++]);
      } else {
        break;
      }
    }
    rest_ = trimmed(rest_.substr(i + 1));
    if (!rest_.empty() && rest_.front() != ',') return fail();
    done_ = rest_.empty();
    if (!done_) rest_.remove_prefix(1);
    field = unquoted_;
    return true;
  }
  bool fail() {
    done_ = broken_ = true;
    return false;
  }

  std::string_view rest_;
  std::string unquoted_;
  bool done_ = false;
  bool broken_ = false;
};

std::vector<std::string> header_names(std::string_view line) {
  std::vector<std::string> names;
  Splitter splitter(line);
  std::string_view name;
  while (splitter.next(name)) names.emplace_back(name);
  return names;
}

class CsvReader final : public TraceReader {
 public:
  CsvReader(TraceText text, std::span<const CsvColumn> columns, const TraceReadOptions& options,
            std::vector<std::string>& notes)
      : text_(std::move(text)), options_(options) {
    read_header(columns, notes);
  }

  bool next(TraceRow& row) override {
    std::string_view line;
    if (!text_.next(line)) return false;
    row = TraceRow();
    Splitter splitter(line);
    std::string_view field;
    std::size_t count = 0;
    while (splitter.next(field)) {
      if (count < fields_.size()) read_field(row, count, field);
      ++count;
    }
    if (splitter.broken()) bad_field(place(), line, "a quoted field that ends on its line");
    if (count != fields_.size()) {
      throw InputError({text_.path(), place().text(), std::to_string(count) + " fields",
                        std::to_string(fields_.size()) + ", as in the header"});
    }
    check_row(row, place());
    return true;
  }

  FieldPlace place() const override { return {text_.path(), text_.line_number(), ""}; }

 private:
  void read_field(TraceRow& row, std::size_t index, std::string_view text) {
    const TraceField field = fields_[index];
    if (field == TraceField::kIgnored) return;
    const FieldPlace place{text_.path(), text_.line_number(), names_[index]};
    if (is_id_field(field)) {
      set_ids(row, field, text, options_.hash_block_size, place);
    } else {
      set_field(row, field, text, place);
    }
  }

  void read_header(std::span<const CsvColumn> columns, std::vector<std::string>& notes) {
    std::string_view line;
    if (!text_.next(line)) {
      throw InputError({text_.path(), "", "an empty file", "a header line and rows"});
    }
    names_ = header_names(line);
    fields_.assign(names_.size(), TraceField::kIgnored);
    std::vector<std::string> known;
    for (const CsvColumn& column : columns) {
      known.emplace_back(column.name);
      const auto found = std::find(names_.begin(), names_.end(), column.name);
      if (found == names_.end()) {
        if (column.required) missing(column, line);
        continue;
      }
      if (std::find(found + 1, names_.end(), column.name) != names_.end()) {
        throw InputError({text_.path(), place().text(),
                          "column " + std::string(column.name) + " twice", "it once"});
      }
      fields_[static_cast<std::size_t>(found - names_.begin())] = column.field;
    }
    note_ignored(known, notes);
  }

  [[noreturn]] void missing(const CsvColumn& column, std::string_view header) const {
    const std::string near = nearest(std::string(column.name), names_);
    bad_field(place(), header,
              "a column " + std::string(column.name) +
                  (near.empty() ? "" : " (is " + near + " meant for it?)"));
  }

  void note_ignored(const std::vector<std::string>& known, std::vector<std::string>& notes) const {
    std::string ignored;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (std::find(known.begin(), known.end(), names_[i]) != known.end()) continue;
      ignored += (ignored.empty() ? "" : ", ") + names_[i];
    }
    if (!ignored.empty()) notes.push_back(text_.path() + ": columns not read: " + ignored);
  }

  TraceText text_;
  TraceReadOptions options_;
  std::vector<std::string> names_;
  std::vector<TraceField> fields_;  // by column
};

}  // namespace

std::unique_ptr<TraceReader> open_csv(TraceText text, std::span<const CsvColumn> columns,
                                      const TraceReadOptions& options,
                                      std::vector<std::string>& notes) {
  return std::make_unique<CsvReader>(std::move(text), columns, options, notes);
}

bool has_csv_header(std::string_view head, std::span<const CsvColumn> columns) {
  const std::vector<std::string> names = header_names(head.substr(0, head.find('\n')));
  return std::any_of(columns.begin(), columns.end(), [&](const CsvColumn& column) {
    return column.required && std::find(names.begin(), names.end(), column.name) != names.end();
  });
}

}  // namespace headway
