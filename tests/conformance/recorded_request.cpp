#include "tests/conformance/recorded_request.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace headway::conformance {

Request read_token_request(const nlohmann::json& recorded, std::uint64_t id) {
  Request request;
  request.id = id;
  request.content_granularity = 1;
  request.content_ids = recorded.at("prompt_token_ids").get<std::vector<std::uint64_t>>();
  request.output_ids = recorded.at("output_token_ids").get<std::vector<std::uint64_t>>();
  request.prompt_tokens = static_cast<std::int32_t>(request.content_ids.size());
  request.output_tokens = static_cast<std::int32_t>(request.output_ids.size());
  request.max_tokens = recorded.at("max_tokens");
  request.priority = recorded.value("priority", 0);
  return request;
}

}  // namespace headway::conformance
