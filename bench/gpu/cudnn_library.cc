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
                  Bind(opened, "cudnnBackendExecute", library.execute) &&
                  Bind(opened, "cudnnCreateTensorDescriptor", library.make_tensor) &&
                  Bind(opened, "cudnnDestroyTensorDescriptor", library.destroy_tensor) &&
                  Bind(opened, "cudnnSetTensorNdDescriptor", library.set_tensor) &&
                  Bind(opened, "cudnnCreatePoolingDescriptor", library.make_pooling) &&
                  Bind(opened, "cudnnDestroyPoolingDescriptor", library.destroy_pooling) &&
                  Bind(opened, "cudnnSetPooling2dDescriptor", library.set_pooling) &&
                  Bind(opened, "cudnnCreateReduceTensorDescriptor", library.make_reduction) &&
                  Bind(opened, "cudnnDestroyReduceTensorDescriptor", library.destroy_reduction) &&
                  Bind(opened, "cudnnSetReduceTensorDescriptor", library.set_reduction) &&
                  Bind(opened, "cudnnPoolingForward", library.pool) &&
                  Bind(opened, "cudnnSoftmaxForward", library.softmax) &&
                  Bind(opened, "cudnnGetReductionWorkspaceSize", library.reduction_workspace) &&
                  Bind(opened, "cudnnReduceTensor", library.reduce);
  if (!complete) return Lacks(opened, "cuDNN of version 9");
  return library;
}

}  // namespace tcc::cudnn
