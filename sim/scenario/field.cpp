#include "sim/scenario/field.h"

#include <cmath>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/scenario/fields.h"

namespace headway {
namespace {

std::string number_text(double value) {
  if (std::isinf(value)) return "\"inf\"";
  return dump(number_json(value));
}

// Blocks where a misplaced key would be right: "max_num_seqs" at the top means engine.max_num_seqs.
std::vector<std::string> homes(const std::string& key) {
  std::vector<std::string> found;
  for (const FieldDoc& doc : scenario_fields()) {
    if (doc.key.find('[') != std::string::npos) continue;  // of a list's entries
    if (doc.key != key && doc.key.ends_with("." + key)) found.push_back(doc.key);
  }
  return found;
}

}  // namespace

Json number_json(double value) {
  if (std::isinf(value)) return "inf";
  if (value == std::floor(value) && std::abs(value) < 9.0e15)
    return static_cast<std::int64_t>(value);
  return value;
}

std::string range_text(std::int64_t low, std::int64_t high) {
  return std::to_string(low) + " to " + std::to_string(high);
}

std::string range_text(double low, double high) {
  const std::string floor = low == kAboveZero   ? "above 0"
                            : low == -kInfinity ? ""
                                                : number_text(low);
  if (high == kInfinity) {
    if (floor.empty()) return "any number";
    return low == kAboveZero ? floor + " (\"inf\" allowed)" : floor + " or more";
  }
  return low == kAboveZero ? floor + ", at most " + number_text(high)
                           : floor + " to " + number_text(high);
}

std::string choices_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : " | ") + (name.empty() ? std::string("\"\"") : name);
  }
  return text;
}

void unknown_key(const Value& block, const std::string& key,
                 const std::vector<std::string>& names) {
  const std::string path = join_path(block.path(), key);
  const std::string owner =
      block.path().empty() ? "a key of a scenario" : "a key of " + block.path();
  std::string expected;
  const std::vector<std::string> elsewhere = homes(key);
  const std::string close = nearest(key, names);
  if (elsewhere.size() == 1) {
    expected = owner + " (did you mean " + elsewhere.front() + "?)";
  } else if (!close.empty()) {
    expected = owner + " (did you mean " + close + "?)";
  } else {
    expected = one_of(key, names);
  }
  block.document().fail(path, "an unknown key", expected);
}

Value Value::member(const std::string& key) const {
  return Value(*document_, json_->at(key), join_path(path_, key));
}

Value Value::entry(std::size_t index) const {
  return Value(*document_, json_->at(index), path_ + "[" + std::to_string(index) + "]");
}

void Value::fail(const std::string& found, const std::string& expected) const {
  document_->fail(path_, found, expected);
}

void Value::require_object() const {
  if (!json_->is_object()) fail(describe(*json_), "an object");
}

std::int64_t Value::integer(std::int64_t low, std::int64_t high) const {
  const std::string expected = "a whole number, " + range_text(low, high);
  if (!json_->is_number()) fail(describe(*json_), expected);
  std::int64_t value = 0;
  if (json_->is_number_unsigned()) {
    const auto raw = json_->get<std::uint64_t>();
    if (raw > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      fail(describe(*json_), expected);
    }
    value = static_cast<std::int64_t>(raw);
  } else if (json_->is_number_integer()) {
    value = json_->get<std::int64_t>();
  } else {
    const double real = json_->get<double>();  // 2e10 is a whole number
    if (real != std::floor(real) || std::abs(real) > 9.0e15) fail(describe(*json_), expected);
    value = static_cast<std::int64_t>(real);
  }
  if (value < low || value > high) fail(describe(*json_), expected);
  return value;
}

std::uint64_t Value::unsigned_integer() const {
  if (json_->is_number_unsigned()) return json_->get<std::uint64_t>();
  return static_cast<std::uint64_t>(integer(0, std::numeric_limits<std::int64_t>::max()));
}

double Value::number(double low, double high) const {
  double value = 0;
  if (json_->is_number()) {
    value = json_->get<double>();
  } else if (high == kInfinity && json_->is_string() &&
             (*json_ == "inf" || *json_ == "infinity" || *json_ == "Infinity")) {
    value = kInfinity;
  } else {
    fail(describe(*json_), "a number, " + range_text(low, high));
  }
  if (!(value >= low && value <= high))
    fail(describe(*json_), "a number, " + range_text(low, high));
  return value;
}

bool Value::boolean() const {
  if (!json_->is_boolean()) fail(describe(*json_), "true or false");
  return json_->get<bool>();
}

std::string Value::text() const {
  if (!json_->is_string()) fail(describe(*json_), "a text in quotes");
  return json_->get<std::string>();
}

std::string Value::choice(const std::vector<std::string>& names) const {
  if (!json_->is_string()) fail(describe(*json_), one_of("", names));
  const std::string word = json_->get<std::string>();
  for (const std::string& name : names) {
    if (word == name) return word;
  }
  fail(in_quotes(word), one_of(word, names));
}

}  // namespace headway
