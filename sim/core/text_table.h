#pragma once

#include <string>
#include <vector>

namespace headway {

// A heading and rows of cells.
using TextTable = std::vector<std::vector<std::string>>;

// Columns aligned with two blanks between them; the first row is the heading. Trailing blanks are
// cut. Columns whose cells are all numbers are set to the right.
std::string aligned(const TextTable& rows);

// Lines of at most `width` bytes, broken between words; ends with a line break.
std::string wrapped(const std::string& text, std::size_t width = 100);

}  // namespace headway
