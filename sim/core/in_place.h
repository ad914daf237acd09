#pragma once

#include <new>
#include <type_traits>

namespace headway {

// at = make(), but made where it is to be. An assignment would copy what has been written just now with
// wider reads than it was written in, and those wait until the writes have left the processor's queue,
// behind all that those wait for.
template <typename T, typename Make>
inline void make_in_place(T& at, Make make) {
  static_assert(std::is_trivially_destructible_v<T> && std::is_same_v<decltype(make()), T>);
  ::new (static_cast<void*>(&at)) T(make());
}

}  // namespace headway
