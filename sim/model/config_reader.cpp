#include "sim/model/config_reader.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/json_file.h"

namespace headway {
namespace {

using Json = nlohmann::json;

std::string range(std::int32_t lowest, std::int32_t largest) {
  return "a whole number from " + std::to_string(lowest) + " to " + std::to_string(largest);
}

bool whole(const Json& value, std::int32_t lowest, std::int32_t largest) {
  return value.is_number_integer() && value >= lowest && value <= largest;
}

bool used(const Json* value) {
  if (value == nullptr) return false;
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_number()) return value->get<double>() != 0;
  if (value->is_string()) return !value->get_ref<const std::string&>().empty();
  return !value->empty();
}

// Of a multi-modal model some files say these once, outside.
constexpr const char* kOuterKeys[] = {"tie_word_embeddings", "quantization_config"};

}  // namespace

ConfigReader::ConfigReader(const Json& document, std::string file)
    : config_(std::make_shared<Json>(document)),
      original_keys_(std::make_shared<Json>(Json::object())),
      file_(std::move(file)) {
  for (const char* key : {"text_config", "llm_config"}) {
    const auto nested = document.find(key);
    if (nested == document.end() || !nested->is_object()) continue;
    *config_ = *nested;
    prefix_ = std::string(key) + ".";
    for (const char* outer : kOuterKeys) {
      if (!config_->contains(outer) && document.contains(outer)) {
        (*config_)[outer] = document[outer];
      }
    }
    return;
  }
}

void ConfigReader::add_defaults(const char* json) {
  const Json defaults = Json::parse(json);
  for (const auto& [key, value] : defaults.items()) {
    if (!config_->contains(key)) (*config_)[key] = value;
  }
}

void ConfigReader::rename(const char* json) {
  const Json names = Json::parse(json);
  for (const auto& [theirs, ours] : names.items()) {
    const std::size_t dot = theirs.find('.');
    Json* home = config_.get();
    if (dot != std::string::npos) {
      const auto inner = home->find(theirs.substr(0, dot));
      if (inner == home->end() || !inner->is_object()) continue;
      home = &*inner;
    }
    const auto it = home->find(dot == std::string::npos ? theirs : theirs.substr(dot + 1));
    if (it == home->end()) continue;
    Json value = *it;
    home->erase(it);
    (*config_)[ours.get<std::string>()] = std::move(value);
    (*original_keys_)[ours.get<std::string>()] = theirs;
  }
}

const Json* ConfigReader::find(const std::string& key) const {
  asked_.insert(key);
  return peek(key);
}

const Json* ConfigReader::peek(const std::string& key) const {
  const auto it = config_->find(key);
  return it == config_->end() || it->is_null() ? nullptr : &*it;
}

bool ConfigReader::present(const std::string& key) const { return find(key) != nullptr; }

bool ConfigReader::given(const std::string& key) const { return used(find(key)); }

bool ConfigReader::is_text(const std::string& key) const {
  const Json* value = find(key);
  return value != nullptr && value->is_string();
}

bool ConfigReader::is_list(const std::string& key) const {
  const Json* value = find(key);
  return value != nullptr && value->is_array();
}

std::int32_t ConfigReader::integer(const std::string& key, std::int32_t largest) const {
  const Json* value = find(key);
  if (value == nullptr) fail(key, "nothing", range(1, largest));
  if (!whole(*value, 1, largest)) fail(key, describe_json(*value), range(1, largest));
  return value->get<std::int32_t>();
}

std::int32_t ConfigReader::integer_or(const std::string& key, std::int32_t fallback,
                                      std::int32_t largest, std::int32_t lowest) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!whole(*value, lowest, largest)) fail(key, describe_json(*value), range(lowest, largest));
  return value->get<std::int32_t>();
}

double ConfigReader::number_or(const std::string& key, double fallback, double largest) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  const bool fits =
      value->is_number() && value->get<double>() >= 0 && value->get<double>() <= largest;
  if (!fits) fail(key, describe_json(*value), "a number from 0 to " + Json(largest).dump());
  return value->get<double>();
}

bool ConfigReader::flag_or(const std::string& key, bool fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) fail(key, describe_json(*value), "true or false");
  return value->get<bool>();
}

std::string ConfigReader::text_or(const std::string& key, const std::string& fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) fail(key, describe_json(*value), "a text");
  return value->get<std::string>();
}

std::vector<std::string> ConfigReader::texts(const std::string& key) const {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) fail(key, describe_json(*value), "a list of texts");
  std::vector<std::string> list;
  for (const Json& item : *value) {
    if (!item.is_string()) fail(key, describe_json(item), "a list of texts");
    list.push_back(item.get<std::string>());
  }
  return list;
}

std::vector<std::int32_t> ConfigReader::integers(const std::string& key,
                                                 std::int32_t largest) const {
  const Json* value = find(key);
  if (value == nullptr) return {};
  const std::string expected = "a list, each " + range(0, largest);
  if (!value->is_array()) fail(key, describe_json(*value), expected);
  std::vector<std::int32_t> list;
  for (const Json& item : *value) {
    if (!whole(item, 0, largest)) fail(key, describe_json(item), expected);
    list.push_back(item.get<std::int32_t>());
  }
  return list;
}

ConfigReader ConfigReader::block(const std::string& key) const {
  const Json* value = find(key);
  SIM_CHECK(value != nullptr, key);
  if (!value->is_object()) fail(key, describe_json(*value), "an object");
  ConfigReader inner;
  inner.config_ = std::make_shared<Json>(*value);
  inner.original_keys_ = std::make_shared<Json>(Json::object());
  inner.file_ = file_;
  inner.prefix_ = prefix_ + key + ".";
  return inner;
}

std::vector<std::string> ConfigReader::strangers() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : config_->items()) {
    if (!asked_.contains(key)) keys.push_back(key);
  }
  return keys;
}

void ConfigReader::fail(const std::string& key, const std::string& found,
                        const std::string& expected) const {
  throw InputError({file_, prefix_ + original_keys_->value(key, key), found, expected});
}

void ConfigReader::refuse(const std::string& key, const std::string& expected) const {
  const Json* value = peek(key);
  if (used(value)) fail(key, describe_json(*value), expected);
}

void ConfigReader::set(const std::string& key, std::int32_t value) { (*config_)[key] = value; }

std::string ConfigReader::resolved(const std::string& model_type) const {
  Json config = *config_;
  config["model_type"] = model_type;
  for (const char* key : {"name", "_name_or_path", "source", "published_parameters",
                          "published_digits", "published_by"}) {
    config.erase(key);
  }
  return config.dump();
}

}  // namespace headway
