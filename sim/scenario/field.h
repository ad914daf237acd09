#pragma once

// Internal to scenario/: the tables that describe every key. One row a key; the parser, the writer
// and the documentation all read the same row. Not for public headers (heavy include).

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/scenario/document.h"

namespace headway {

// One value of a document, with its path. Every reader refuses what does not fit.
class Value {
 public:
  Value(const Document& document, const Json& json, std::string path)
      : document_(&document), json_(&json), path_(std::move(path)) {}

  const Json& json() const { return *json_; }
  const std::string& path() const { return path_; }
  const Document& document() const { return *document_; }
  Value member(const std::string& key) const;  // REQUIRES: an object with that key
  Value entry(std::size_t index) const;        // REQUIRES: a list that long
  bool has(const std::string& key) const { return json_->is_object() && json_->contains(key); }

  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  std::uint64_t unsigned_integer() const;
  double number(double low, double high) const;  // infinity is written "inf"
  bool boolean() const;
  std::string text() const;
  std::string choice(const std::vector<std::string>& names) const;
  void require_object() const;
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const;

 private:
  const Document* document_;
  const Json* json_;
  std::string path_;
};

// One key of the block T.
template <typename T>
struct FieldRow {
  std::string name;
  std::string type;
  std::string valid;
  std::string help;
  std::function<void(const Value&, T&)> read;
  std::function<Json(const T&)> write;
  std::string group;  // keys of a block that exclude each other; "" = always valid
  bool required = false;
  std::function<std::vector<FieldDoc>(const std::string& path)> children = {};
};
template <typename T>
using FieldTable = std::vector<FieldRow<T>>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kAboveZero = std::numeric_limits<double>::min();

std::string range_text(std::int64_t low, std::int64_t high);
std::string range_text(double low, double high);
std::string choices_text(const std::vector<std::string>& names);
Json number_json(double value);  // infinity as "inf"; whole numbers without ".0"

// InputError for a key that is no row: names the nearest, or the block where it would be right.
[[noreturn]] void unknown_key(const Value& block, const std::string& key,
                              const std::vector<std::string>& names);

template <typename T>
std::vector<std::string> field_names(const FieldTable<T>& fields) {
  std::vector<std::string> names;
  for (const FieldRow<T>& field : fields) names.push_back(field.name);
  return names;
}

template <typename T>
void read_block(const Value& block, const FieldTable<T>& fields, T& out) {
  block.require_object();
  for (const auto& item : block.json().items()) {
    const FieldRow<T>* match = nullptr;
    for (const FieldRow<T>& field : fields) {
      if (field.name == item.key()) match = &field;
    }
    if (match == nullptr) unknown_key(block, item.key(), field_names(fields));
    match->read(block.member(item.key()), out);
  }
  for (const FieldRow<T>& field : fields) {
    if (field.required && !block.has(field.name)) {
      const std::string where = block.path().empty() ? "" : " in " + block.path();
      block.fail("no \"" + field.name + "\"" + where, "\"" + field.name + "\": " + field.help);
    }
  }
}

// Rows of other groups than the one given are left out.
template <typename T>
Json write_block(const T& value, const FieldTable<T>& fields, std::string_view group = "") {
  Json object = Json::object();
  for (const FieldRow<T>& field : fields) {
    if (field.group.empty() || field.group == group) object[field.name] = field.write(value);
  }
  return object;
}

template <typename T>
std::vector<FieldDoc> document_block(const std::string& path, const FieldTable<T>& fields) {
  std::vector<FieldDoc> docs;
  for (const FieldRow<T>& field : fields) {
    const std::string key = join_path(path, field.name);
    if (field.children) {
      for (FieldDoc& doc : field.children(key)) docs.push_back(std::move(doc));
    } else {
      const std::string initial = field.required ? "" : dump(field.write(T{}));
      docs.push_back({key, field.type, field.valid, initial, field.help});
    }
  }
  return docs;
}

// Builders of rows. Bounds are inclusive.
template <typename T, typename I>
FieldRow<T> integer(std::string name, I T::*member, std::int64_t low, std::int64_t high,
                    std::string help) {
  return {std::move(name),
          "integer",
          range_text(low, high),
          std::move(help),
          [=](const Value& v, T& out) { out.*member = static_cast<I>(v.integer(low, high)); },
          [=](const T& in) { return Json(in.*member); }};
}

template <typename T>
FieldRow<T> number(std::string name, double T::*member, double low, double high, std::string help) {
  return {std::move(name),
          "number",
          range_text(low, high),
          std::move(help),
          [=](const Value& v, T& out) { out.*member = v.number(low, high); },
          [=](const T& in) { return number_json(in.*member); }};
}

// null = not set.
template <typename T>
FieldRow<T> optional_number(std::string name, std::optional<double> T::*member, double low,
                            double high, std::string help) {
  return {std::move(name),
          "number or null",
          range_text(low, high),
          std::move(help),
          [=](const Value& v, T& out) {
            if (v.json().is_null())
              (out.*member).reset();
            else
              out.*member = v.number(low, high);
          },
          [=](const T& in) { return in.*member ? number_json(*(in.*member)) : Json(nullptr); }};
}

template <typename T>
FieldRow<T> boolean(std::string name, bool T::*member, std::string help) {
  return {std::move(name),
          "boolean",
          "true | false",
          std::move(help),
          [=](const Value& v, T& out) { out.*member = v.boolean(); },
          [=](const T& in) { return Json(in.*member); }};
}

template <typename T>
FieldRow<T> text(std::string name, std::string T::*member, std::string help) {
  return {std::move(name),
          "text",
          "",
          std::move(help),
          [=](const Value& v, T& out) { out.*member = v.text(); },
          [=](const T& in) { return Json(in.*member); }};
}

template <typename T>
FieldRow<T> choice(std::string name, std::string T::*member, std::vector<std::string> names,
                   std::string help) {
  const std::string valid = choices_text(names);
  return {std::move(name),
          "text",
          valid,
          std::move(help),
          [=](const Value& v, T& out) { out.*member = v.choice(names); },
          [=](const T& in) { return Json(in.*member); }};
}

// A nested block with its own table.
template <typename T, typename U>
FieldRow<T> block(std::string name, U T::*member, const FieldTable<U>& (*fields)(),
                  std::string help) {
  return {std::move(name),
          "object",
          "",
          std::move(help),
          [=](const Value& v, T& out) { read_block(v, fields(), out.*member); },
          [=](const T& in) { return write_block(in.*member, fields()); },
          "",
          false,
          [=](const std::string& path) { return document_block(path, fields()); }};
}

template <typename T>
FieldRow<T> in_group(std::string group, FieldRow<T> field) {
  field.group = std::move(group);
  return field;
}

template <typename T>
FieldRow<T> required(FieldRow<T> field) {
  field.required = true;
  return field;
}

}  // namespace headway
