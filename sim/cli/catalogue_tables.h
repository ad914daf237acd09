#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway {

// A list of what there is to choose from: a heading (snake_case, units in the name) and rows.
using TextTable = std::vector<std::vector<std::string>>;

struct CatalogueKind {
  std::string_view name;  // "schedulers"
  std::string_view help;
  TextTable (*rows)();
};
std::span<const CatalogueKind> catalogue_kinds();

// Leave-one-out error of every operator table of the profiles whose name begins so; about seven
// seconds a profile.
TextTable accuracy_table(const std::string& prefix);

}  // namespace headway
