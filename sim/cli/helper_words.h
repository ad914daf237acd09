#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headway {

// The command line of a helper program (headway-profile, headway-validate), said again word by word:
// what was not given is left out.
class HelperWords {
 public:
  void add(const std::string& value) {
    if (!value.empty()) words_.push_back(value);
  }
  void add(const char* name, const std::string& value) {
    if (!value.empty()) words_.insert(words_.end(), {name, value});
  }
  void add(const char* name, const std::vector<std::string>& values) {
    for (const std::string& value : values) add(name, value);
  }
  template <typename Number>
  void add(const char* name, const std::optional<Number>& value) {
    if (!value) return;
    char text[32];
    add(name, std::string(text, std::to_chars(text, text + sizeof text, *value).ptr));
  }
  void flag(const char* name, bool given) {
    if (given) words_.emplace_back(name);
  }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

}  // namespace headway
