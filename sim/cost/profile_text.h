#pragma once

// The text of a profile's table files, shared by its reader and writer. Internal to cost/.

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/cost/profile.h"

namespace headway {

inline constexpr std::string_view kProfileSchema = "headway-profile/";
inline constexpr int kProfileSchemaMajor = 1;

// FNV-1a, fed piece by piece: the hash of a table file is that of its unpacked text, so that a
// different zlib does not change it.
class TextHash {
 public:
  void add(std::string_view text) {
    for (char c : text) h_ = (h_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  std::string text() const;  // "fnv1a64:" and 16 hex digits

 private:
  std::uint64_t h_ = 0xcbf29ce484222325ULL;
};

// The first line of a table's file: axes, time_us, and the optional columns it has.
std::string table_header(const ProfileTable& table);

}  // namespace headway
