#pragma once

#include <cstddef>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace headway {

// Copies what another thread will read to where this one will not look again: past the caches, which
// would otherwise have to fetch every line from the other core before it is overwritten, and lose what
// this thread still needs. Writes whole blocks of kStreamBlock bytes, the last one filled up with zeros.
// REQUIRES: `to` is aligned to a block. end_stream() before the other thread is told.
inline constexpr std::size_t kStreamBlock = 16;

inline constexpr std::size_t stream_bytes(std::size_t bytes) {
  return (bytes + kStreamBlock - 1) / kStreamBlock * kStreamBlock;
}

#if defined(__SSE2__)

inline void stream_block(std::byte* to, const std::byte* from) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to),
                   _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline void end_stream() { _mm_sfence(); }

#else

inline void stream_block(std::byte* to, const std::byte* from) {
  std::memcpy(to, from, kStreamBlock);
}
inline void end_stream() {}

#endif

inline void stream_copy(std::byte* to, const void* source, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(source);
  const std::size_t whole = bytes / kStreamBlock * kStreamBlock;
  for (std::size_t i = 0; i < whole; i += kStreamBlock) stream_block(to + i, from + i);
  if (whole == bytes) return;
  alignas(kStreamBlock) std::byte last[kStreamBlock] = {};
  std::memcpy(last, from + whole, bytes - whole);
  stream_block(to + whole, last);
}

}  // namespace headway
