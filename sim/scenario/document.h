#pragma once

// Internal to scenario/ and the reader of plans: JSON with the place of every key. Not for public
// headers (heavy include).

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/scenario/parse.h"

namespace headway {

using Json = nlohmann::ordered_json;

// A scenario's text as a tree, with where each key was written. Paths are dotted, list entries in
// brackets: "workload.input_len.parts[0].mean".
struct Document {
  std::string file;
  Json root;
  std::map<std::string, std::string> places;  // path -> "line 12: engine.max_num_seqs"

  // Where the key is, or the path alone for what was not written.
  std::string place(const std::string& path) const;
  // InputError at that path.
  [[noreturn]] void fail(const std::string& path, const std::string& found,
                         const std::string& expected) const;
};

// InputError: a syntax error (line and column), a key given twice, nesting or size beyond reason.
Document read_document(const std::string& text, const std::string& file);
void assign(Document& document, const Assignment& assignment);

std::string join_path(const std::string& path, const std::string& key);
// "256", "the text \"abc\"", "an object"; for messages.
std::string describe(const Json& value);
std::string dump(const Json& value, int indent = -1);  // never throws on bad UTF-8
std::string in_quotes(const std::string& text);        // "text", control characters escaped
std::string printable(const std::string& text);        // the same without the quotes

}  // namespace headway
