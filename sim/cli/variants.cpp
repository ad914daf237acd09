#include "sim/cli/variants.h"

#include <algorithm>

#include "sim/core/errors.h"

namespace headway {
namespace {

std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\' && i + 1 < text.size())
        values.back() += text[i++];
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      values.emplace_back();
      continue;
    }
    values.back() += text[i];
  }
  return values;
}

struct Axis {
  std::string key;
  std::vector<std::string> values;
};

Axis parse_axis(const std::string& text) {
  const Assignment whole = parse_assignment(text, "--vary");
  Axis axis{whole.key, split_values(whole.value)};
  for (const std::string& value : axis.values) {
    if (value.empty()) {
      throw InputError({"command line", "--vary " + axis.key, "an empty value", "KEY=V1,V2,..."});
    }
    if (std::count(axis.values.begin(), axis.values.end(), value) > 1) {
      throw InputError({"command line", "--vary " + axis.key, value + " twice", "each value once"});
    }
  }
  return axis;
}

}  // namespace

std::vector<Variant> make_variants(const std::vector<std::string>& vary) {
  std::vector<Variant> variants(1);
  std::vector<std::string> keys;
  for (const std::string& text : vary) {
    const Axis axis = parse_axis(text);
    if (std::find(keys.begin(), keys.end(), axis.key) != keys.end()) {
      throw InputError({"command line", "--vary " + axis.key, "the key twice", "one list a key"});
    }
    keys.push_back(axis.key);
    std::vector<Variant> longer;
    for (const Variant& variant : variants) {
      for (const std::string& value : axis.values) {
        Variant next = variant;
        next.label +=
            (next.label.empty() ? "" : ", ") + (vary.size() > 1 ? axis.key + "=" : "") + value;
        next.assignments.push_back({axis.key, value, "--vary"});
        longer.push_back(std::move(next));
      }
    }
    variants = std::move(longer);
  }
  return variants;
}

}  // namespace headway
