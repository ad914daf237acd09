#include "sim/cli/console.h"

#include <cstdio>

#include "sim/core/output_file.h"

namespace headway {

void print_out(std::string_view text) {
  OutputFile out("-");
  out.write(text);
  out.commit();
}

void print_err(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace headway
