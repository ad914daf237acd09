#pragma once

#include <cctype>
#include <set>
#include <string>

#include "sim/study/demo.h"

namespace headway::test {

inline bool digit(const std::string& text, std::size_t at) {
  return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
}

// The numbers of a text: "3 415 blocks in 2.5 s" has 3415 and 2.5; "int4" and "llama-2" have none.
inline std::set<std::string> numbers(const std::string& text) {
  std::set<std::string> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!digit(text, i)) continue;
    const bool in_a_name =
        i > 0 && (std::isalpha(static_cast<unsigned char>(text[i - 1])) != 0 || text[i - 1] == '-');
    std::string number;
    while (i < text.size()) {
      const bool group = text[i] == ' ' && digit(text, i + 1) && digit(text, i + 2) &&
                         digit(text, i + 3) && !digit(text, i + 4);
      if (!digit(text, i) && !(text[i] == '.' && digit(text, i + 1)) && !group) break;
      if (!group) number += text[i];
      ++i;
    }
    if (!in_a_name) found.insert(number);
  }
  return found;
}

// Those that a demo computed or held fixed: of its tables and of its setup.
inline std::set<std::string> computed_numbers(const DemoAnswer& answer) {
  std::set<std::string> all = numbers(answer.setup);
  for (const DemoTable& table : answer.tables) {
    all.merge(numbers(table.caption));
    for (const auto& row : table.rows) {
      for (const std::string& cell : row) all.merge(numbers(cell));
    }
  }
  return all;
}

}  // namespace headway::test
