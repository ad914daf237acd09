#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace headway {

// A JSON document (`//` comments allowed) whose top is an object. InputError with the file, line
// and column of a syntax error, or what stands at the top instead of an object.
nlohmann::json read_json_file(const std::string& path);
nlohmann::json parse_json_object(const std::string& text, const std::string& file);

// A value for the `found` part of an InputError, cut to a readable length.
std::string describe_json(const nlohmann::json& value);

}  // namespace headway
