#pragma once

#include <cudnn.h>
#include <cudnn_backend.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "kernels/providers/shared_library.h"

// The few calls of cuDNN's C backend API that the attention provider needs, looked up at run time.
// Included by the files of this provider only.
namespace headway::kernels {

// cuDNN's functions; why_not says what is missing when !ok().
struct CudnnApi {
  static CudnnApi load();
  bool ok() const { return library.ok(); }

  SharedLibrary library;
  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) error_string = nullptr;
  decltype(&cudnnGetLastErrorString) last_error = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;

  // Throws std::runtime_error with cuDNN's own words unless the status is a success.
  void check(cudnnStatus_t status, const std::string& doing) const;
};

// A backend descriptor: attributes are set one by one, then finalize() makes it usable.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const CudnnApi& api, cudnnBackendDescriptorType_t type, std::string what);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  CudnnDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       std::int64_t count, const void* values);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, std::int64_t value);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, bool value);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  CudnnDescriptor& finalize();

  std::int64_t get_int64(cudnnBackendAttributeName_t name) const;
  cudnnBackendDescriptor_t raw() const { return descriptor_; }

 private:
  const CudnnApi* api_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  std::string what_;
};

}  // namespace headway::kernels
