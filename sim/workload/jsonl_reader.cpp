#include "sim/workload/jsonl_reader.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/core/errors.h"

namespace headway {
namespace {

using Json = nlohmann::json;

// Receives the values of one row as they are parsed; no document is built.
class RowHandler final : public nlohmann::json_sax<Json> {
 public:
  RowHandler(std::span<const JsonKey> keys, const TraceReadOptions& options, TraceText& text)
      : keys_(keys), options_(options), text_(text), seen_(keys.size()) {}

  void start(TraceRow& row) {
    row_ = &row;
    depth_ = 0;
    current_ = nullptr;
    std::fill(seen_.begin(), seen_.end(), false);
  }
  void check_required() const {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].required && !seen_[i]) {
        throw InputError({text_.path(), place().text(),
                          "a row without \"" + std::string(keys_[i].name) + "\"",
                          "every row to have it"});
      }
    }
  }

  bool null() override { return true; }
  bool boolean(bool value) override { return scalar(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { return number(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (depth_ == 2 && current_ != nullptr && is_id_field(current_->field)) {
      add_id(*row_, current_->field, value, options_.hash_block_size);
      return true;
    }
    return number(value);
  }
  bool number_float(double, const std::string& text) override { return scalar(text); }
  bool string(std::string& value) override {
    // A number in quotes is not a number; only a session may be named by text.
    if (depth_ == 1 && current_ != nullptr && current_->field != TraceField::kSessionId &&
        current_->field != TraceField::kTimestamp) {
      bad_field(place(), "\"" + value + "\"", "a number");
    }
    return scalar(value);
  }
  bool binary(Json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override {
    if (depth_ == 0) bad_field(place(), "[", "one JSON object a line");
    return open();
  }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (depth_ != 1) return true;
    current_ = nullptr;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].name != name) continue;
      current_ = &keys_[i];
      seen_[i] = true;
      if (is_id_field(current_->field)) clear_ids(current_->field);
    }
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const Json::exception&) override {
    current_ = nullptr;  // what broke may be the next key
    throw InputError({text_.path(), place().text() + ", byte " + std::to_string(byte),
                      "what is not JSON", "one JSON object a line"});
  }

 private:
  FieldPlace place() const {
    return {text_.path(), text_.line_number(), current_ != nullptr ? current_->name : ""};
  }
  bool open() {
    ++depth_;
    const bool value_of_key = depth_ == 2 && current_ != nullptr;
    if (value_of_key && !is_id_field(current_->field)) {
      bad_field(place(), "a list or an object", "a number");
    }
    if (depth_ == 3 && current_ != nullptr) bad_field(place(), "a list or an object", "an id");
    return true;
  }
  bool close() {
    --depth_;
    if (depth_ <= 1) current_ = nullptr;
    return true;
  }
  template <typename Number>
  bool number(Number value) {
    char buffer[24];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return scalar(std::string_view(buffer, static_cast<std::size_t>(end - buffer)));
  }
  bool scalar(std::string_view text) {
    if (depth_ == 0) bad_field(place(), text, "one JSON object a line");
    if (current_ == nullptr) return true;
    if (is_id_field(current_->field)) {
      bad_field(place(), text, depth_ == 1 ? "a list of ids" : "an id (a whole number, 0 or more)");
    }
    set_field(*row_, current_->field, text, place());
    return true;
  }
  void clear_ids(TraceField field) {
    Request& r = row_->request;
    (field == TraceField::kOutputIds ? r.output_ids : r.content_ids).clear();
  }

  std::span<const JsonKey> keys_;
  TraceReadOptions options_;
  TraceText& text_;
  std::vector<bool> seen_;
  TraceRow* row_ = nullptr;
  int depth_ = 0;
  const JsonKey* current_ = nullptr;
};

class JsonlReader final : public TraceReader {
 public:
  JsonlReader(TraceText text, std::span<const JsonKey> keys, const TraceReadOptions& options)
      : text_(std::move(text)), handler_(keys, options, text_) {}

  bool next(TraceRow& row) override {
    std::string_view line;
    if (!text_.next(line)) return false;
    row = TraceRow();
    handler_.start(row);
    Json::sax_parse(line.data(), line.data() + line.size(), &handler_);
    handler_.check_required();
    if (!row.has_arrival) {
      if (row.request.session_id < 0) {
        throw InputError({text_.path(), place().text(), "a row without a time",
                          "every row to have one (only a turn of a session may leave it out)"});
      }
      row.request.arrival = last_arrival_;
    }
    last_arrival_ = row.request.arrival;
    check_row(row, place());
    return true;
  }

  FieldPlace place() const override { return {text_.path(), text_.line_number(), ""}; }

 private:
  TraceText text_;
  RowHandler handler_;
  SimTime last_arrival_;
};

}  // namespace

std::unique_ptr<TraceReader> open_jsonl(TraceText text, std::span<const JsonKey> keys,
                                        const TraceReadOptions& options) {
  return std::make_unique<JsonlReader>(std::move(text), keys, options);
}

bool has_json_keys(std::string_view head, std::span<const JsonKey> keys) {
  const std::string_view line = head.substr(0, head.find('\n'));
  const auto first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos || line[first] != '{') return false;
  return std::any_of(keys.begin(), keys.end(), [&](const JsonKey& key) {
    std::string quoted = "\"";
    quoted.append(key.name).append("\"");
    return key.required && line.find(quoted) != std::string_view::npos;
  });
}

}  // namespace headway
