#include "sim/core/errors.h"

namespace headway {
namespace {

std::string compose(const InputError::Parts& p) {
  std::string text = p.file;
  if (!p.place.empty()) text += (text.empty() ? "" : ": ") + p.place;
  if (!p.found.empty()) text += (text.empty() ? "" : ": ") + ("found " + p.found);
  if (!p.expected.empty()) text += (p.found.empty() ? ": expected " : "; expected ") + p.expected;
  return text;
}

}  // namespace

InputError::InputError(Parts parts)
    : std::runtime_error(compose(parts)), parts_(std::move(parts)) {}

void check_failed(const char* condition, const char* file, int line, const std::string& detail) {
  std::string text = std::string(file) + ":" + std::to_string(line) + ": check failed: " + condition;
  if (!detail.empty()) text += " (" + detail + ")";
  throw InternalError(text);
}

}  // namespace headway
