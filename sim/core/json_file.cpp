#include "sim/core/json_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/core/errors.h"
#include "sim/core/input_file.h"

namespace headway {
namespace {

// Of the byte that the parser stopped at, both counted from 1.
std::string line_and_column(const std::string& text, std::size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  const auto line = 1 + std::count(text.begin(), end, '\n');
  const auto start = text.rfind('\n', byte == 0 ? 0 : byte - 1);
  const std::size_t column = start == std::string::npos ? byte : byte - start - 1;
  return "line " + std::to_string(line) + ", column " +
         std::to_string(std::max<std::size_t>(1, column));
}

}  // namespace

std::string describe_json(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return value.empty() ? "an empty list" : "a list";
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

nlohmann::json parse_json_object(const std::string& text, const std::string& file) {
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(text, nullptr, true, true);
  } catch (const nlohmann::json::parse_error& e) {
    throw InputError({file, line_and_column(text, e.byte), "a syntax error", "JSON"});
  } catch (const nlohmann::json::exception& e) {  // a number out of every range
    throw InputError({file, "", "a value that cannot be held", "JSON"});
  }
  if (!document.is_object()) throw InputError({file, "", describe_json(document), "an object"});
  return document;
}

nlohmann::json read_json_file(const std::string& path) {
  return parse_json_object(read_whole_file(path), path);
}

}  // namespace headway
