#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "sim/core/hash.h"

namespace headway::test {

// Small damage to a text, the kind that files suffer and people type: bytes flipped, dropped,
// doubled and swapped, pieces cut, copied and moved, words of a list put in. The same seed does the
// same damage.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : state_(seed) {}

  std::string mutate(std::string text, std::span<const std::string_view> words) {
    for (std::uint64_t edits = 1 + below(4); edits > 0; --edits) edit(text, words);
    return text;
  }
  // A number in [0, n). REQUIRES: n > 0.
  std::uint64_t below(std::uint64_t n) { return (state_ = mix64(state_)) % n; }

 private:
  void edit(std::string& text, std::span<const std::string_view> words) {
    if (text.empty()) text = " ";
    const std::size_t at = below(text.size());
    const std::size_t length = 1 + below(std::min<std::size_t>(text.size() - at, 24));
    switch (below(8)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1U << below(8)));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), length));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        std::swap(text[at], text[below(text.size())]);
        break;
      case 6:
        text.insert(at, words[below(words.size())]);
        break;
      default:
        text.replace(at, length, words[below(words.size())]);
        break;
    }
  }

  std::uint64_t state_;
};

}  // namespace headway::test
