#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__) && defined(__x86_64__)
#define HEADWAY_STREAMS 1
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

// A word at a time. What is copied has been written just now, a number at a time: a wider read would have
// to wait until all its parts have left the processor's queue of writes, behind whatever that waits for.
#if defined(HEADWAY_STREAMS)

inline void stream_word(std::byte* to, std::int64_t word) {
  _mm_stream_si64(reinterpret_cast<long long*>(to), word);
}
inline void end_stream() { _mm_sfence(); }

#else

inline void stream_word(std::byte* to, std::int64_t word) { std::memcpy(to, &word, sizeof word); }
inline void end_stream() {}

#endif

inline void stream_copy(std::byte* to, const void* source, std::size_t bytes) {
  constexpr std::size_t kWord = sizeof(std::int64_t);
  const auto* from = static_cast<const std::byte*>(source);
  std::int64_t word = 0;
  std::size_t i = 0;
  for (; i + kWord <= bytes; i += kWord) {
    std::memcpy(&word, from + i, kWord);
    stream_word(to + i, word);
  }
  if (i < bytes) {
    word = 0;
    std::memcpy(&word, from + i, bytes - i);
    stream_word(to + i, word);
    i += kWord;
  }
  if (i % kStreamBlock != 0) stream_word(to + i, 0);
}

}  // namespace headway
