#pragma once

#include <string_view>

#include "sim/core/text_table.h"  // aligned(), what commands print tables with

namespace headway {

// Data: to stdout, flushed. InputError when that cannot take it (a closed pipe, a full disk).
void print_out(std::string_view text);
// Talk: to stderr; nothing is said when even that fails.
void print_err(std::string_view text);

}  // namespace headway
