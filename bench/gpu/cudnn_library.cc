#include "bench/gpu/cudnn_library.h"

#include "ir/support/cuda_library.h"

namespace tcc::cudnn {
namespace {

constexpr const char* kNames[] = {"libcudnn.so.9"};
constexpr const char* kWheels[] = {"cudnn/lib"};

}  // namespace

StatusOr<Library> OpenLibrary() {
  TCC_ASSIGN_OR_RETURN(OpenedLibrary opened, OpenCudaLibrary({.variable = "TCC_CUDNN",
                                                              .names = kNames,
                                                              .toolkit_folders = {},
                                                              .wheel_folders = kWheels}));
  Library library;
  bool complete = Bind(opened, "cudnnCreate", library.create) &&
                  Bind(opened, "cudnnSetStream", library.set_stream) &&
                  Bind(opened, "cudnnGetErrorString", library.error_text) &&
                  Bind(opened, "cudnnBackendCreateDescriptor", library.make) &&
                  Bind(opened, "cudnnBackendDestroyDescriptor", library.destroy) &&
                  Bind(opened, "cudnnBackendFinalize", library.finalize) &&
                  Bind(opened, "cudnnBackendSetAttribute", library.set) &&
                  Bind(opened, "cudnnBackendGetAttribute", library.get) &&
                  Bind(opened, "cudnnBackendExecute", library.execute);
  if (!complete) return Missing("{} is no cuDNN of version 9", opened.path);
  return library;
}

}  // namespace tcc::cudnn
