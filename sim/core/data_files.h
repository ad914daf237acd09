#pragma once

#include <string>
#include <vector>

namespace headway {

// Where the installed data lies: the source tree for a binary in the build tree,
// <prefix>/share/headway for an installed one. Found from the executable's own place.
// Sub-folders: models/ gpus/ profiles/ traces/ scenarios/.
std::string data_folder(const std::string& kind);

// Names (file stems, or folders relative to it) of catalogue entries of a kind, sorted.
std::vector<std::string> catalogue_names(const std::string& kind);

}  // namespace headway
