#pragma once

#include <cstdio>

namespace headway {

// Whether the stream is a terminal.
bool is_terminal(std::FILE* stream);

// Whether to colour what goes there: a terminal that is not "dumb", and no NO_COLOR
// (https://no-color.org: set and not empty).
bool use_colour(std::FILE* stream);

}  // namespace headway
