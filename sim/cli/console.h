#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headway {

// Data: to stdout, flushed. InputError when that cannot take it (a closed pipe, a full disk).
void print_out(std::string_view text);
// Talk: to stderr; nothing is said when even that fails.
void print_err(std::string_view text);

// Columns aligned with two blanks between them; the first row is the heading. Trailing blanks are
// cut. Columns whose cells are all numbers are set to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

}  // namespace headway
