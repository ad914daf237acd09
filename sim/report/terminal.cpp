#include "sim/report/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace headway {

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

bool use_colour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return is_terminal(stream) && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace headway
