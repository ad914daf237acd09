#pragma once

#include <cstddef>

namespace headway {

// Tells the processor that `value` will be read soon, for where it cannot guess that; changes nothing
// else.
template <typename T>
inline void fetch_ahead(const T& value) {
#if defined(__GNUC__)
  constexpr std::size_t kLine = 64;
  const auto* bytes = reinterpret_cast<const char*>(&value);
  for (std::size_t i = 0; i < sizeof(T); i += kLine) __builtin_prefetch(bytes + i);
  __builtin_prefetch(bytes + sizeof(T) - 1);
#endif
}

}  // namespace headway
