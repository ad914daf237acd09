#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

namespace headway {

// Bounds of a config's figures: far above any model, and low enough that no count of parameters
// (layers x experts x 3 x width x width) passes 2^63.
constexpr std::int32_t kMostLayers = 1 << 11;
constexpr std::int32_t kWidest = 1 << 18;
constexpr std::int32_t kMostHeads = 1 << 12;
constexpr std::int32_t kWidestHead = 1 << 13;
constexpr std::int32_t kMostExperts = 1 << 12;
constexpr std::int32_t kMostWords = 1 << 24;
constexpr std::int32_t kMostPositions = 1 << 30;

// The keys of a config.json, asked one by one. Null counts as left out. A value of the wrong type
// or out of bounds throws InputError with the key as the user wrote it.
class ConfigReader {
 public:
  // Of a multi-modal model the nested text_config (or llm_config) is read.
  ConfigReader(const nlohmann::json& document, std::string file);

  // Values for keys that are left out, as a JSON object.
  void add_defaults(const char* json);
  // {"their key": "our key", ...}: other spellings of keys that we know; "a.b" is key b of object
  // a.
  void rename(const char* json);

  bool present(const std::string& key) const;
  // Present, and neither false, 0 nor empty: "this is used".
  bool given(const std::string& key) const;
  bool is_text(const std::string& key) const;
  bool is_list(const std::string& key) const;
  std::int32_t integer(const std::string& key,
                       std::int32_t largest) const;  // from 1; must be there
  std::int32_t integer_or(const std::string& key, std::int32_t fallback, std::int32_t largest,
                          std::int32_t lowest = 1) const;
  double number_or(const std::string& key, double fallback, double largest) const;  // from 0
  bool flag_or(const std::string& key, bool fallback) const;
  std::string text_or(const std::string& key, const std::string& fallback) const;
  // Lists; empty when left out.
  std::vector<std::string> texts(const std::string& key) const;
  std::vector<std::int32_t> integers(const std::string& key, std::int32_t largest) const;  // from 0

  // The keys of an object within. REQUIRES: present. InputError: it is something else.
  ConfigReader block(const std::string& key) const;
  // Keys that nobody asked for.
  std::vector<std::string> strangers() const;

  [[noreturn]] void fail(const std::string& key, const std::string& found,
                         const std::string& expected) const;
  // Unless the key is not used. Does not count as asking for it: nothing that it says is of use.
  void refuse(const std::string& key, const std::string& expected) const;

  // Every key that was asked for: those that mean something to this architecture.
  const std::set<std::string>& asked() const { return asked_; }
  // What was left out and has been derived, so that it stays when other figures change.
  void set(const std::string& key, std::int32_t value);
  // The config as it was read: defaults filled in, keys renamed, nothing nested; with this type.
  std::string resolved(const std::string& model_type) const;

 private:
  ConfigReader() = default;
  const nlohmann::json* find(const std::string& key) const;
  const nlohmann::json* peek(const std::string& key) const;

  std::shared_ptr<nlohmann::json> config_;
  std::shared_ptr<nlohmann::json> original_keys_;  // our key -> theirs, of those renamed
  std::string file_;
  std::string prefix_;  // "text_config."
  mutable std::set<std::string> asked_;
};

}  // namespace headway
