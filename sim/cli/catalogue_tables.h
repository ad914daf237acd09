#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/text_table.h"

namespace headway {

// A list of what there is to choose from.
struct CatalogueKind {
  std::string_view name;  // "schedulers"
  std::string_view help;
  TextTable (*rows)();  // headings in snake_case, units in the name
};
std::span<const CatalogueKind> catalogue_kinds();

TextTable model_rows();
TextTable pruning_rows();

// Leave-one-out error of every operator table of the profiles whose name begins so; about seven
// seconds a profile.
TextTable accuracy_table(const std::string& prefix);

}  // namespace headway
