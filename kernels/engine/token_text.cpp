#include "kernels/engine/token_text.h"

#include "sim/core/hash.h"

namespace headway::kernels {

std::vector<std::int32_t> TokenText::prompt(const Request& request) const {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(request.prompt_tokens));
  for (std::int32_t i = 0; i < request.prompt_tokens; ++i) {
    const std::uint64_t identity = token_at(request, i);
    const auto known = learnt_.find(identity);
    tokens[static_cast<std::size_t>(i)] =
        known != learnt_.end()
            ? known->second
            : static_cast<std::int32_t>(mix64(identity) % static_cast<std::uint64_t>(vocab_));
  }
  return tokens;
}

void TokenText::learn(const Request& request, std::int32_t position, std::int32_t token) {
  if (request.session_id < 0) return;  // nobody repeats it
  learnt_[token_at(request, position)] = token;
}

}  // namespace headway::kernels
