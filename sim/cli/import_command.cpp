#include "sim/cli/import_command.h"

#include <array>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/cost/import/importers.h"

namespace headway {
namespace {

struct FormatRow {
  const char* name;
  std::vector<Profile> (*read)(const std::string& path, std::FILE* log);
};
constexpr std::array<FormatRow, 4> kFormats{{{"aiconfigurator", import_aiconfigurator},
                                             {"llmservingsim", import_llmservingsim},
                                             {"splitwise", import_splitwise},
                                             {"vidur", import_vidur}}};

}  // namespace

std::vector<std::string> import_formats() {
  std::vector<std::string> names;
  for (const FormatRow& row : kFormats) names.emplace_back(row.name);
  return names;
}

void import_profiles(const std::string& format, const std::string& path, const std::string& out_dir,
                     std::FILE* log) {
  for (const FormatRow& row : kFormats) {
    if (format != row.name) continue;
    const std::vector<Profile> profiles = row.read(path, log);
    for (const Profile& profile : profiles) write_profile(profile, out_dir + "/" + profile.name);
    if (log != nullptr) {
      std::fprintf(log, "%zu profiles written below %s\n", profiles.size(), out_dir.c_str());
    }
    return;
  }
  throw InputError(
      {"command line", "import", "\"" + format + "\"", one_of(format, import_formats())});
}

}  // namespace headway
