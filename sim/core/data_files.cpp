#include "sim/core/data_files.h"

#include <algorithm>
#include <filesystem>

namespace headway {
namespace fs = std::filesystem;
namespace {

// The source tree keeps models and GPUs beside their readers; an installed prefix has one folder.
std::string source_folder(const fs::path& root, const std::string& kind) {
  if (kind == "models") return root / "sim/model/catalogue";
  if (kind == "gpus") return root / "sim/hardware/catalogue";
  return root / kind;
}

void collect(const fs::path& root, const std::string& kind, std::vector<std::string>& names) {
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const fs::path relative = fs::relative(entry.path(), root);
    const std::string file = relative.filename().string();
    if (kind == "profiles") {
      if (file == "profile.json") names.push_back(relative.parent_path().generic_string());
    } else if (entry.is_regular_file()) {
      const auto dot = file.find('.');
      if (dot == 0 || file.ends_with(".md")) continue;
      // "lecture/01-bus" for scenarios/lecture/01-bus.json; versions keep their dots: cut known ends.
      std::string stem = relative.generic_string();
      for (const char* end : {".gz", ".json", ".csv", ".jsonl"}) {
        if (stem.ends_with(end)) stem.resize(stem.size() - std::string_view(end).size());
      }
      names.push_back(stem);
    }
  }
}

}  // namespace

std::string data_folder(const std::string& kind) {
  std::error_code ec;
  const fs::path self = fs::read_symlink("/proc/self/exe", ec);
  if (!ec) {
    const fs::path installed = self.parent_path().parent_path() / "share/headway" / kind;
    if (fs::is_directory(installed, ec)) return installed;
    // A build folder within a source tree, which may have moved since (to a machine with a GPU).
    const std::string beside = source_folder(self.parent_path().parent_path(), kind);
    if (fs::is_directory(beside, ec)) return beside;
  }
  return source_folder(HEADWAY_SOURCE_DIR, kind);
}

std::vector<std::string> catalogue_names(const std::string& kind) {
  std::vector<std::string> names;
  const fs::path root = data_folder(kind);
  std::error_code ec;
  if (fs::is_directory(root, ec)) collect(root, kind, names);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace headway
