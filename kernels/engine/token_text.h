#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/workload/request.h"

namespace headway::kernels {

// The tokens that stand for the identities of a workload (token_at): equal identities, equal
// tokens. What the model answered is known only once it has, and a later turn of a conversation
// repeats it: learn() makes the identity of an answer's token mean the token that was generated.
class TokenText {
 public:
  explicit TokenText(std::int32_t vocab) : vocab_(vocab) {}

  std::vector<std::int32_t> prompt(const Request& request) const;
  // Token `position` of the request's text turned out to be `token`.
  void learn(const Request& request, std::int32_t position, std::int32_t token);

 private:
  std::int32_t vocab_;
  std::unordered_map<std::uint64_t, std::int32_t> learnt_;
};

}  // namespace headway::kernels
