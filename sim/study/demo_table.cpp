#include <array>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/study/demo.h"

namespace headway {

std::span<const DemoEntry> demo_table() {
  static constexpr std::array<DemoEntry, 1> kRows{{
      {"speculation", "What does a draft model buy, and at which batch does it turn into a loss?",
       run_speculation_demo},
  }};
  return kRows;
}

const DemoEntry& find_demo(const std::string& name) {
  std::vector<std::string> names;
  for (const DemoEntry& row : demo_table()) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  throw InputError({"command line", "headway demo", "\"" + name + "\"", one_of(name, names)});
}

}  // namespace headway
