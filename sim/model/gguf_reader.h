#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

namespace headway {

// The head of a GGUF file (versions 2 and 3, little-endian): the values that a model is described
// by and the shapes of its tensors. Weights are not read. Source: the format's specification,
// docs/gguf.md of ggml-org/ggml.
struct GgufHeader {
  std::map<std::string, std::int64_t> integers;  // of every width, and booleans as 0 and 1
  std::map<std::string, std::string> texts;
  // Lists of whole numbers, when short enough to have an entry a layer.
  std::map<std::string, std::vector<std::int64_t>> lists;
  std::map<std::string, std::int64_t> list_sizes;            // of every list, whatever it holds
  std::map<std::string, std::vector<std::int64_t>> tensors;  // name -> dimensions, fastest first
};

// `file` is for messages. InputError with the offset of what is cut short, too large for the file
// it stands in, or not GGUF at all; nothing larger than the file is ever allocated.
GgufHeader read_gguf_header(std::istream& stream, const std::string& file);

}  // namespace headway
