#if __has_include(<cudnn.h>)

#include "kernels/providers/cudnn_api.h"

#include <stdexcept>
#include <utility>

namespace headway::kernels {

CudnnApi CudnnApi::load() {
  CudnnApi api;
  api.library = SharedLibrary::open(cudnn_query());
  SharedLibrary& library = api.library;
  library.bind(api.get_version, "cudnnGetVersion");
  library.bind(api.error_string, "cudnnGetErrorString");
  library.bind(api.last_error, "cudnnGetLastErrorString");
  library.bind(api.create, "cudnnCreate");
  library.bind(api.destroy, "cudnnDestroy");
  library.bind(api.set_stream, "cudnnSetStream");
  library.bind(api.create_descriptor, "cudnnBackendCreateDescriptor");
  library.bind(api.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  library.bind(api.finalize, "cudnnBackendFinalize");
  library.bind(api.set_attribute, "cudnnBackendSetAttribute");
  library.bind(api.get_attribute, "cudnnBackendGetAttribute");
  library.bind(api.execute, "cudnnBackendExecute");
  return api;
}

void CudnnApi::check(cudnnStatus_t status, const std::string& doing) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char words[1024] = "";
  last_error(words, sizeof words);
  throw std::runtime_error("cuDNN, " + doing + ": " + error_string(status) + " " + words);
}

CudnnDescriptor::CudnnDescriptor(const CudnnApi& api, cudnnBackendDescriptorType_t type,
                                 std::string what)
    : api_(&api), what_(std::move(what)) {
  api_->check(api_->create_descriptor(type, &descriptor_), "creating " + what_);
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) api_->destroy_descriptor(descriptor_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : api_(other.api_),
      descriptor_(std::exchange(other.descriptor_, nullptr)),
      what_(std::move(other.what_)) {}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                      cudnnBackendAttributeType_t type, std::int64_t count,
                                      const void* values) {
  api_->check(api_->set_attribute(descriptor_, name, type, count, values),
              "attribute " + std::to_string(static_cast<int>(name)) + " of " + what_);
  return *this;
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                      const std::vector<std::int64_t>& values) {
  return set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, std::int64_t value) {
  return set(name, CUDNN_TYPE_INT64, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, bool value) {
  return set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  return set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                      const CudnnDescriptor& value) {
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
}

CudnnDescriptor& CudnnDescriptor::finalize() {
  api_->check(api_->finalize(descriptor_), "finalizing " + what_);
  return *this;
}

std::int64_t CudnnDescriptor::get_int64(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0, count = 0;
  api_->check(api_->get_attribute(descriptor_, name, CUDNN_TYPE_INT64, 1, &count, &value),
              "reading attribute " + std::to_string(static_cast<int>(name)) + " of " + what_);
  return value;
}

}  // namespace headway::kernels

#endif
