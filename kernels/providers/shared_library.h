#pragma once

#include <functional>
#include <string>
#include <vector>

namespace headway::kernels {

// Where a library that only some machines have may lie. The places are tried in this order: the
// file or folder that the environment variable names (then nothing else); the loader's own path;
// CUDA toolkits; the folders of NVIDIA's Python packages.
struct LibraryQuery {
  std::string name;                   // for messages: "cuBLASLt"
  std::string environment_variable;   // "HEADWAY_CUBLASLT"
  std::vector<std::string> sonames;   // the preferred first: "libcublasLt.so.13", ...
  std::vector<std::string> packages;  // folders below a site-packages: "nvidia/cublas/lib"
};

// The arguments that dlopen is given for a query, in order. `getenv` answers nullptr for an unset
// variable; `glob` lists the paths that match a pattern (both are parameters for the tests' sake).
std::vector<std::string> candidate_paths(
    const LibraryQuery& query, const std::function<const char*(const char*)>& getenv,
    const std::function<std::vector<std::string>(const std::string&)>& glob);

// A library opened with dlopen; stays open for the life of the process, since CUDA libraries
// register callbacks that must not be unloaded.
class SharedLibrary {
 public:
  // The first candidate that opens; an object that is !ok() and says why when none does.
  static SharedLibrary open(const LibraryQuery& query);

  bool ok() const { return handle_ != nullptr; }
  const std::string& path() const { return path_; }
  // "cuBLASLt was not found: tried libcublasLt.so.13, ... (set HEADWAY_CUBLASLT to its folder)".
  const std::string& why_not() const { return why_not_; }
  // nullptr when the library has no such symbol. REQUIRES: ok().
  void* symbol(const char* name) const;

  // Fills a function pointer; the missing symbol becomes the answer of why_not() and ok() is false.
  template <class Function>
  void bind(Function*& function, const char* name) {
    if (!ok()) return;
    function = reinterpret_cast<Function*>(symbol(name));
    if (function == nullptr) fail(path_ + " has no symbol " + name);
  }

 private:
  void fail(const std::string& why);
  void* handle_ = nullptr;
  std::string path_, why_not_;
};

// What the profiler looks for.
LibraryQuery cublaslt_query();
LibraryQuery cudnn_query();

}  // namespace headway::kernels
