#include "kernels/providers/shared_library.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>

namespace headway::kernels {
namespace {

// Below a prefix, where toolkits and distributions keep their libraries.
constexpr const char* kToolkitFolders[] = {"/lib64", "/lib", "/targets/*-linux/lib"};
constexpr const char* kToolkits[] = {"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda"};
// Where a Python may be installed; environments come before these.
constexpr const char* kPythonPrefixes[] = {"/usr/local", "/usr", "/opt/conda", "/opt/venv",
                                           "/opt/*/venv"};
constexpr const char* kPackageFolders[] = {"/lib/python3*/site-packages/",
                                           "/lib/python3*/dist-packages/"};

std::vector<std::string> glob_paths(const std::string& pattern) {
  ::glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  return paths;
}

bool names_a_library(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return path.find(".so", slash == std::string::npos ? 0 : slash) != std::string::npos;
}

}  // namespace

std::vector<std::string> candidate_paths(
    const LibraryQuery& query, const std::function<const char*(const char*)>& getenv,
    const std::function<std::vector<std::string>(const std::string&)>& glob) {
  std::vector<std::string> paths;
  const char* named = getenv(query.environment_variable.c_str());
  if (named != nullptr && *named != '\0') {
    if (names_a_library(named)) return {named};
    for (const std::string& soname : query.sonames)
      paths.push_back(std::string(named) + "/" + soname);
    return paths;
  }
  paths = query.sonames;
  const auto add = [&](const std::string& folder) {
    for (const std::string& soname : query.sonames)
      for (std::string& path : glob(folder + "/" + soname)) paths.push_back(std::move(path));
  };
  std::vector<std::string> toolkits;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* value = getenv(variable); value != nullptr && *value != '\0')
      toolkits.emplace_back(value);
  toolkits.insert(toolkits.end(), std::begin(kToolkits), std::end(kToolkits));
  for (const std::string& toolkit : toolkits)
    for (const char* folder : kToolkitFolders) add(toolkit + folder);
  std::vector<std::string> prefixes;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* value = getenv(variable); value != nullptr && *value != '\0')
      prefixes.emplace_back(value);
  if (const char* home = getenv("HOME"); home != nullptr && *home != '\0')
    prefixes.push_back(std::string(home) + "/.local");
  prefixes.insert(prefixes.end(), std::begin(kPythonPrefixes), std::end(kPythonPrefixes));
  for (const std::string& prefix : prefixes)
    for (const char* folder : kPackageFolders)
      for (const std::string& package : query.packages) add(prefix + folder + package);
  return paths;
}

SharedLibrary SharedLibrary::open(const LibraryQuery& query) {
  SharedLibrary library;
  std::string tried, last_error;
  for (const std::string& path : candidate_paths(query, std::getenv, glob_paths)) {
    library.handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ != nullptr) {
      library.path_ = path;
      return library;
    }
    if (const char* error = ::dlerror(); error != nullptr) last_error = error;
    tried += (tried.empty() ? "" : ", ") + path;
  }
  library.why_not_ = query.name + " was not found: tried " + tried + " (set " +
                     query.environment_variable +
                     " to the library or its folder); the loader said: " + last_error;
  return library;
}

void* SharedLibrary::symbol(const char* name) const { return ::dlsym(handle_, name); }

void SharedLibrary::fail(const std::string& why) {
  handle_ = nullptr;
  why_not_ = why;
}

LibraryQuery cublaslt_query() {
  return {"cuBLASLt",
          "HEADWAY_CUBLASLT",
          {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
          {"nvidia/cu13/lib", "nvidia/cublas/lib"}};
}

LibraryQuery cudnn_query() {
  return {"cuDNN", "HEADWAY_CUDNN", {"libcudnn.so.9", "libcudnn.so"}, {"nvidia/cudnn/lib"}};
}

}  // namespace headway::kernels
