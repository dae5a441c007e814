#include "bench/gpu/cudnn_library.h"

#include "support/cuda/cuda_library.h"

namespace tcc::cudnn {
namespace {

constexpr const char* kNames[] = {"libcudnn.so.9"};
constexpr const char* kWheels[] = {"cudnn/lib"};

constexpr Symbol<Library> kSymbols[] = {
    SymbolFor<&Library::create>("cudnnCreate"),
    SymbolFor<&Library::set_stream>("cudnnSetStream"),
    SymbolFor<&Library::error_text>("cudnnGetErrorString"),
    SymbolFor<&Library::make>("cudnnBackendCreateDescriptor"),
    SymbolFor<&Library::destroy>("cudnnBackendDestroyDescriptor"),
    SymbolFor<&Library::finalize>("cudnnBackendFinalize"),
    SymbolFor<&Library::set>("cudnnBackendSetAttribute"),
    SymbolFor<&Library::get>("cudnnBackendGetAttribute"),
    SymbolFor<&Library::execute>("cudnnBackendExecute"),
    SymbolFor<&Library::make_tensor>("cudnnCreateTensorDescriptor"),
    SymbolFor<&Library::destroy_tensor>("cudnnDestroyTensorDescriptor"),
    SymbolFor<&Library::set_tensor>("cudnnSetTensorNdDescriptor"),
    SymbolFor<&Library::make_pooling>("cudnnCreatePoolingDescriptor"),
    SymbolFor<&Library::destroy_pooling>("cudnnDestroyPoolingDescriptor"),
    SymbolFor<&Library::set_pooling>("cudnnSetPooling2dDescriptor"),
    SymbolFor<&Library::make_reduction>("cudnnCreateReduceTensorDescriptor"),
    SymbolFor<&Library::destroy_reduction>("cudnnDestroyReduceTensorDescriptor"),
    SymbolFor<&Library::set_reduction>("cudnnSetReduceTensorDescriptor"),
    SymbolFor<&Library::pool>("cudnnPoolingForward"),
    SymbolFor<&Library::softmax>("cudnnSoftmaxForward"),
    SymbolFor<&Library::reduction_workspace>("cudnnGetReductionWorkspaceSize"),
    SymbolFor<&Library::reduce>("cudnnReduceTensor"),
};

}  // namespace

StatusOr<Library> OpenLibrary() {
  TCC_ASSIGN_OR_RETURN(OpenedLibrary opened, OpenCudaLibrary({.variable = "TCC_CUDNN",
                                                              .names = kNames,
                                                              .toolkit_folders = {},
                                                              .wheel_folders = kWheels}));
  return BindAll(opened, kSymbols, "cuDNN of version 9");
}

}  // namespace tcc::cudnn
