#include "runtime/cupti/cupti_library.h"

namespace tcc::cupti {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
constexpr const char* kToolkitFolders[] = {"extras/CUPTI/lib64"};
constexpr const char* kWheels[] = {"cuda_cupti/lib"};

}  // namespace

StatusOr<OpenedLibrary> OpenSharedLibrary() {
  return OpenCudaLibrary({.variable = "TCC_CUPTI",
                          .names = kNames,
                          .toolkit_folders = kToolkitFolders,
                          .wheel_folders = kWheels});
}

}  // namespace tcc::cupti
