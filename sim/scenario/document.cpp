#include "sim/scenario/document.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "sim/core/errors.h"

namespace headway {
namespace {

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxKeys = 1000;  // of one object
constexpr std::size_t kMaxBytes = 4 << 20;

// The JSON library reports no positions to a SAX handler. It takes any iterator, though, and reads
// exactly to the closing quote of a key before it announces it; so the iterator keeps the line.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_ == '\n') ++*line_;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* line_;
};

std::string line_and_column(const std::string& text, std::size_t byte) {
  byte = std::min(byte, text.size());
  const auto begin = text.begin();
  const auto stop = begin + static_cast<std::ptrdiff_t>(byte > 0 ? byte - 1 : 0);
  const auto line = std::count(begin, stop, '\n') + 1;
  const auto last = text.rfind('\n', byte > 1 ? byte - 2 : 0);
  const std::size_t start = byte > 1 && last != std::string::npos ? last + 1 : 0;
  return "line " + std::to_string(line) + ", column " +
         std::to_string(byte > start ? byte - start : 1);
}

// Builds the tree; refuses what a strict reader refuses and the library would let pass.
class Builder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  Builder(const std::string& text, Document& document, const std::size_t& line)
      : text_(text), document_(document), line_(line) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(number_integer_t value) { return add(value); }
  bool number_unsigned(number_unsigned_t value) { return add(value); }
  bool number_float(number_float_t value, const string_t&) { return add(value); }
  bool string(string_t& value) { return add(value); }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(string_t& key) {
    Level& level = levels_.back();
    const std::string path = join_path(level.path, key);
    const std::string place = "line " + std::to_string(line_) + ": " + printable(path);
    if (level.value->contains(key)) {
      throw InputError({document_.file, place, "a key given twice", "each key once"});
    }
    if (level.value->size() >= kMaxKeys) {
      throw InputError({document_.file, place, "more than " + std::to_string(kMaxKeys) + " keys",
                        "the keys of a scenario"});
    }
    level.key = key;
    document_.places[path] = place;
    return true;
  }

  bool parse_error(std::size_t byte, const std::string& token,
                   const nlohmann::detail::exception& e) {
    const std::string what = e.what();
    const auto cut = what.rfind("; expected ");
    std::string found = "the end of the file";
    if (byte <= text_.size() && !token.empty()) found = in_quotes(token);
    const bool overflow = what.find("number overflow") != std::string::npos;
    std::string expected = overflow ? "a number that fits" : "valid JSON";
    if (cut != std::string::npos) expected = what.substr(cut + 11);
    const auto reason =
        what.find("invalid literal") == std::string::npos ? what.find(" - ") : std::string::npos;
    if (cut == std::string::npos && reason != std::string::npos) {
      std::string detail = what.substr(reason + 3);
      if (const auto tail = detail.find("; last read"); tail != std::string::npos)
        detail.resize(tail);
      expected += " (" + detail + ")";
    }
    throw InputError({document_.file, line_and_column(text_, byte), found, expected});
  }

 private:
  struct Level {
    Json* value;
    std::string path;
    std::string key;
  };

  std::string child_path() const {
    if (levels_.empty()) return "";
    const Level& level = levels_.back();
    if (level.value->is_array())
      return level.path + "[" + std::to_string(level.value->size()) + "]";
    return join_path(level.path, level.key);
  }

  Json* place_value(Json value) {
    if (levels_.empty()) {
      document_.root = std::move(value);
      return &document_.root;
    }
    Level& level = levels_.back();
    if (level.value->is_array()) {
      level.value->push_back(std::move(value));
      return &level.value->back();
    }
    return &((*level.value)[level.key] = std::move(value));
  }

  bool add(Json value) {
    note_entry();
    place_value(std::move(value));
    return true;
  }

  // Entries of a list have no key; they get the line they start on.
  void note_entry() {
    if (levels_.empty() || !levels_.back().value->is_array()) return;
    const std::string path = child_path();
    document_.places[path] = "line " + std::to_string(line_) + ": " + printable(path);
  }

  bool open(Json value) {
    if (levels_.size() >= kMaxDepth) {
      throw InputError({document_.file, "line " + std::to_string(line_),
                        "blocks nested more than " + std::to_string(kMaxDepth) + " deep",
                        "the blocks of a scenario"});
    }
    note_entry();
    std::string path = child_path();
    Json* placed = place_value(std::move(value));
    levels_.push_back({placed, std::move(path), ""});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  const std::string& text_;
  Document& document_;
  const std::size_t& line_;
  std::vector<Level> levels_;
};

Json parse_value(const std::string& text) {
  try {
    return read_document(text, "").root;
  } catch (const InputError&) {
    return Json(text);  // `--set engine.scheduler=orca` needs no quotes
  }
}

// Everything from here down comes from that flag, not from a line of the file.
void mark(Document& document, const Json& value, const std::string& path,
          const std::string& place) {
  document.places[path] = place;
  if (!value.is_structured()) return;  // a plain value would iterate over itself
  std::size_t index = 0;
  for (const auto& [key, child] : value.items()) {
    const bool list = value.is_array();
    mark(document, child, list ? path + "[" + std::to_string(index++) + "]" : join_path(path, key),
         place);
  }
}

// An entry of a list, by number or by its "name": cluster.pools.0.replicas, cluster.pools.big.replicas.
std::size_t entry_index(const Json& list, const std::string& key, const std::string& path,
                        const std::string& place) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (key == std::to_string(i)) return i;
    const Json& entry = list[i];
    if (entry.is_object() && entry.contains("name") && entry.at("name") == key) return i;
  }
  throw InputError({"command line", place, "no entry " + in_quotes(key) + " of " + printable(path),
                    list.empty() ? "a list with entries"
                                 : "a number from 0 to " + std::to_string(list.size() - 1) +
                                       ", or an entry's name"});
}

}  // namespace

std::string join_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::string dump(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string in_quotes(const std::string& text) { return dump(Json(text)); }

std::string printable(const std::string& text) {
  const std::string escaped = in_quotes(text);
  return escaped.substr(1, escaped.size() - 2);
}

std::string describe(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = dump(value);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return value.is_string() ? "the text " + text : text;
}

std::string Document::place(const std::string& path) const {
  const auto found = places.find(path);
  return found != places.end() ? found->second : printable(path);
}

void Document::fail(const std::string& path, const std::string& found,
                    const std::string& expected) const {
  const std::string where = place(path);
  throw InputError({where.starts_with("--") ? "command line" : file, where, found, expected});
}

Document read_document(const std::string& text, const std::string& file) {
  Document document;
  document.file = file;
  if (text.size() > kMaxBytes) {
    throw InputError(
        {file, "", std::to_string(text.size()) + " bytes", "a scenario of at most 4 MiB"});
  }
  std::size_t line = 1;
  Builder builder(text, document, line);
  const CountingIterator begin(text.data(), &line), end(text.data() + text.size(), &line);
  Json::sax_parse(begin, end, &builder, nlohmann::detail::input_format_t::json, /*strict=*/true,
                  /*ignore_comments=*/true);
  return document;
}

void assign(Document& document, const Assignment& assignment) {
  const std::string place = assignment.flag + " " + printable(assignment.key);
  Json* at = &document.root;
  std::string path;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t dot = assignment.key.find('.', begin);
    const std::string key = assignment.key.substr(begin, dot - begin);
    if (key.empty()) {
      throw InputError(
          {"command line", place, "an empty key", "dotted keys such as engine.max_num_seqs"});
    }
    // A catalogue GPU or model turns into an override of itself: --set gpu.memory_bytes=...
    if ((path == "gpu" || path == "model") && at->is_string()) *at = Json{{"base", *at}};
    if (at->is_null()) *at = Json::object();
    if (at->is_array()) {
      const std::size_t index = entry_index(*at, key, path, place);
      path.append("[").append(std::to_string(index)).append("]");
      at = &(*at)[index];
    } else if (at->is_object()) {
      path = join_path(path, key);
      at = &(*at)[key];
    } else {
      throw InputError(
          {"command line", place, printable(path) + " = " + describe(*at), "an object there"});
    }
    document.places.try_emplace(path, place);
    if (dot == std::string::npos) break;
    begin = dot + 1;
  }
  *at = parse_value(assignment.value);
  mark(document, *at, path, place);
}

Assignment parse_assignment(const std::string& text, const std::string& flag) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError({"command line", flag, "\"" + text + "\"", "KEY=VALUE"});
  }
  return {text.substr(0, equals), text.substr(equals + 1), flag};
}

}  // namespace headway
