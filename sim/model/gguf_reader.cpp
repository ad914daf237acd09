#include "sim/model/gguf_reader.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "sim/core/errors.h"

namespace headway {
namespace {

enum class Type : std::uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kText,
  kList,
  kUint64,
  kInt64,
  kFloat64,
  kCount
};
constexpr std::array<std::uint64_t, 13> kWidths{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

constexpr std::uint64_t kLongestKey = 65535;  // bytes; the specification's limit
constexpr std::uint64_t kLongestText = 1 << 20;
constexpr std::uint64_t kLongestKeptList = 4096;
constexpr std::uint32_t kMostDimensions = 4;

class GgufReader {
 public:
  GgufReader(std::istream& stream, const std::string& file) : stream_(stream), file_(file) {
    stream_.seekg(0, std::ios::end);
    const std::streamoff end = stream_.tellg();
    if (end < 0) fail("something that cannot be read", "a GGUF file");
    size_ = static_cast<std::uint64_t>(end);
    stream_.seekg(0);
  }

  GgufHeader read() {
    std::array<char, 4> magic{};
    bytes(magic.data(), magic.size());
    if (std::memcmp(magic.data(), "GGUF", 4) != 0) fail("no \"GGUF\" at the start", "a GGUF file");
    const auto version = number<std::uint32_t>();
    if (version != 2 && version != 3) {
      fail("version " + std::to_string(version), "version 2 or 3, little-endian");
    }
    // A tensor takes at least 24 bytes of the head, a value at least 13.
    const std::uint64_t tensors = count("tensors", 24);
    const std::uint64_t values = count("values", 13);
    for (std::uint64_t i = 0; i < values; ++i) value();
    for (std::uint64_t i = 0; i < tensors; ++i) tensor();
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw InputError({file_, "byte " + std::to_string(at_), found, expected});
  }

  std::uint64_t left() const { return size_ - at_; }

  void bytes(char* to, std::uint64_t count) {
    if (count > left()) fail("the end of the file", std::to_string(count) + " more bytes");
    stream_.read(to, static_cast<std::streamsize>(count));
    if (!stream_) fail("something that cannot be read", std::to_string(count) + " more bytes");
    at_ += count;
  }

  void skip(std::uint64_t count) {
    if (count > left()) fail("the end of the file", std::to_string(count) + " more bytes");
    if (count <= 4096) {  // stays in the stream's buffer
      stream_.ignore(static_cast<std::streamsize>(count));
    } else {
      stream_.seekg(static_cast<std::streamoff>(count), std::ios::cur);
    }
    at_ += count;
  }

  template <typename T>
  T number() {
    static_assert(std::endian::native == std::endian::little);
    std::array<char, sizeof(T)> raw{};
    bytes(raw.data(), raw.size());
    return std::bit_cast<T>(raw);
  }

  std::uint64_t count(const char* what, std::uint64_t least_bytes) {
    const auto n = number<std::uint64_t>();
    if (n > left() / least_bytes) {
      fail(std::to_string(n) + " " + what, "no more than the rest of the file can hold");
    }
    return n;
  }

  std::string text(std::uint64_t longest) {
    const auto length = number<std::uint64_t>();
    if (length > longest || length > left()) {
      fail("a text of " + std::to_string(length) + " bytes",
           "at most " + std::to_string(std::min(longest, left())));
    }
    std::string result(length, '\0');
    bytes(result.data(), length);
    return result;
  }

  void skip_text() { skip(number<std::uint64_t>()); }

  Type type() {
    const auto code = number<std::uint32_t>();
    if (code >= static_cast<std::uint32_t>(Type::kCount)) {
      fail("a value of type " + std::to_string(code), "a type from 0 to 12");
    }
    return static_cast<Type>(code);
  }

  // Whole numbers alone; an unsigned one beyond 63 bits describes no model.
  bool integer(Type type, std::int64_t& out) {
    switch (type) {
      case Type::kUint8:
        out = number<std::uint8_t>();
        return true;
      case Type::kInt8:
        out = number<std::int8_t>();
        return true;
      case Type::kUint16:
        out = number<std::uint16_t>();
        return true;
      case Type::kInt16:
        out = number<std::int16_t>();
        return true;
      case Type::kUint32:
        out = number<std::uint32_t>();
        return true;
      case Type::kInt32:
        out = number<std::int32_t>();
        return true;
      case Type::kBool:
        out = number<std::uint8_t>() != 0;
        return true;
      case Type::kInt64:
        out = number<std::int64_t>();
        return true;
      case Type::kUint64: {
        const auto wide = number<std::uint64_t>();
        constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        out = static_cast<std::int64_t>(std::min(wide, kMost));
        return true;
      }
      default:
        return false;
    }
  }

  void value() {
    const std::string key = text(kLongestKey);
    const Type kind = type();
    if (kind == Type::kText) {
      header_.texts[key] = text(kLongestText);
    } else if (kind == Type::kList) {
      list(key);
    } else if (std::int64_t whole = 0; integer(kind, whole)) {
      header_.integers[key] = whole;
    } else {
      skip(kWidths[static_cast<std::size_t>(kind)]);
    }
  }

  void list(const std::string& key) {
    const Type kind = type();
    if (kind == Type::kList) fail("a list of lists", "a list of values");
    const std::uint64_t width = kWidths[static_cast<std::size_t>(kind)];
    const std::uint64_t n = count("entries", kind == Type::kText ? 8 : width);
    header_.list_sizes[key] = static_cast<std::int64_t>(n);
    if (kind == Type::kText) {
      for (std::uint64_t i = 0; i < n; ++i) skip_text();
      return;
    }
    const bool real = kind == Type::kFloat32 || kind == Type::kFloat64;
    if (real || n > kLongestKeptList) return skip(n * width);  // n <= left / width
    std::vector<std::int64_t>& kept = header_.lists[key];
    kept.resize(n);
    for (std::int64_t& entry : kept) integer(kind, entry);
  }

  void tensor() {
    const std::string name = text(kLongestKey);
    const auto dimensions = number<std::uint32_t>();
    if (dimensions > kMostDimensions) {
      fail("a tensor of " + std::to_string(dimensions) + " dimensions",
           "at most " + std::to_string(kMostDimensions));
    }
    std::vector<std::int64_t>& shape = header_.tensors[name];
    shape.resize(dimensions);
    for (std::int64_t& side : shape) integer(Type::kUint64, side);
    skip(4 + 8);  // its type, and where it lies
  }

  std::istream& stream_;
  const std::string& file_;
  std::uint64_t size_ = 0;
  std::uint64_t at_ = 0;
  GgufHeader header_;
};

}  // namespace

GgufHeader read_gguf_header(std::istream& stream, const std::string& file) {
  return GgufReader(stream, file).read();
}

}  // namespace headway
